import { beforeAll, describe, expect, test } from "bun:test";
import type { RecordedThread } from "../src/entry/threads.ts";
import { flow, numberOf, set, Trial } from "./again.ts";

describe("a step in a loop", () => {
  const trial = new Trial(
    flow(
      [
        { id: "Loop_A", source: "=$list", children: ["Set_Out"], next: "Set_Last" },
        set("Set_Out", "$out[_index]", "=_item + $plus", "Set_Dir"),
        set("Set_Dir", "$dirs[_index]", "=_iterDir + _item"),
        set("Set_Last", "$last", "=$out.length"),
      ],
      [
        '$list(ARRAY) = ["a","b","c"]',
        '$plus(STRING) = "!"',
        "$out(ARRAY)",
        "$dirs(ARRAY)",
        "$last(INT)",
      ],
    ),
  );
  let thread: RecordedThread;
  beforeAll(async () => {
    thread = await trial.run();
  });

  test("begins with the values and the locals of its own iteration", () => {
    const second = numberOf(thread, "Set_Out", 2);
    expect(trial.values(thread, second)).toEqual({
      steps: second - 1,
      stepID: "Set_Out",
      path: [{ in: "Loop_A", child: "Set_Out", iteration: 1 }],
      within: null,
      params: {},
      variables: {
        $list: ["a", "b", "c"],
        $plus: "!",
        $out: ["a!"],
        $dirs: ["Loop_A_0a"],
        $last: null,
      },
      localVars: { _item: "b", _index: 1, _iterDir: "Loop_A_1" },
    });
  });

  test("continues in that iteration, and another _item applies only to that iteration", async () => {
    for (const [role, changed] of [
      ["Set_Out", ["a!", "x!", "c!"]],
      ["Set_Dir", ["a!", "b!", "c!"]],
    ] as const) {
      const number = numberOf(thread, role, 2);
      const { variables } = await trial.again(thread, number, { _item: "x" });
      const $dirs = ["Loop_A_0a", "Loop_A_1x", "Loop_A_2c"];
      expect(variables).toMatchObject({ $out: changed, $dirs, $last: 3 });
    }
  });

  test("of the first iteration is in the loop, and another variable applies from there on", async () => {
    const { roles, variables } = await trial.again(thread, 1, { $plus: "?" });
    expect(roles.filter((role) => role === "Set_Out")).toHaveLength(3);
    expect(variables).toMatchObject({ $out: ["a?", "b?", "c?"], $last: 3 });
  });

  test("keeps its overrides when its thread resumes", async () => {
    const number = numberOf(thread, "Set_Out", 2);
    const { rerun } = await trial.again(thread, number, { _item: "x" });
    const { steps } = await trial.run(rerun.steps.slice(0, number + 1));
    expect(steps.map(({ meta }) => meta.variables)).toEqual(
      rerun.steps.map(({ meta }) => meta.variables),
    );
  });

  test("can be rerun a second time, with both changes", async () => {
    const { rerun } = await trial.again(thread, numberOf(thread, "Set_Out", 2), { _item: "x" });
    const third = numberOf(rerun, "Set_Out", 3);
    const { variables } = await trial.again(rerun, third, { _item: "y" });
    expect(variables).toMatchObject({ $out: ["a!", "x!", "y!"] });
  });

  test("is separate from the loop, which begins with its first step", async () => {
    const values = trial.values(thread, numberOf(thread, "Loop_A"));
    expect(values).toMatchObject({ steps: 0, stepID: "Loop_A", path: [], localVars: {} });
    const { roles, variables } = await trial.again(thread, numberOf(thread, "Loop_A"), {
      $list: ["z"],
    });
    expect(roles).toEqual(["Set_Out", "Set_Dir", "Loop_A", "Set_Last"]);
    expect(variables).toMatchObject({ $out: ["z!"], $dirs: ["Loop_A_0z"], $last: 1 });
  });
});

test("a step in an inner loop can read the item of the outer loop", async () => {
  const trial = new Trial(
    flow(
      [
        { id: "Loop_Out", source: [["a", "b"], ["c"]], children: ["Loop_In"], next: "RETURN" },
        { id: "Loop_In", source: "=_item", children: ["Set_A"], next: "RETURN" },
        set("Set_A", "$all[$all.length]", "=_item"),
      ],
      ["$all(ARRAY) = []"],
    ),
  );
  const thread = await trial.run();
  const number = numberOf(thread, "Set_A", 3);
  expect(trial.values(thread, number)?.localVars).toEqual({
    _item: "c",
    _index: 0,
    _iterDir: "Loop_In_0",
  });
  const { variables } = await trial.again(thread, numberOf(thread, "Set_A", 2), { _item: "x" });
  expect(variables).toEqual({ $all: ["a", "x", "c"] });
});

test("in a parallel loop or a fork leaves the other chains unchanged", async () => {
  const trial = new Trial(
    flow(
      [
        { id: "Noop_Fork", children: ["Loop_P", "Set_B"], next: "RETURN" },
        { id: "Loop_P", mode: "parallel", source: [1, 2, 3], children: ["Set_P"], next: "RETURN" },
        set("Set_P", "$p[_index]", "=_item * $by", "Set_Q"),
        set("Set_Q", "$q[_index]", "=_item * $by"),
        set("Set_B", "$b", "=$by"),
      ],
      ["$by(INT) = 10", "$p(ARRAY)", "$q(ARRAY)", "$b(INT)"],
    ),
  );
  const thread = await trial.run();
  const last = numberOf(thread, "Set_Q", 3);
  const place = thread.steps[last - 1]?.meta.path as { iteration?: number }[];
  const own = place.at(-1)?.iteration ?? 0;
  const { roles, variables } = await trial.again(thread, last, { _item: 7, $by: 100 });
  expect(roles).not.toContain("Set_P");
  expect(roles.filter((role) => role === "Set_Q")).toHaveLength(1);
  const $q = [10, 20, 30].map((value, index) => (index === own ? 700 : value));
  expect(variables).toMatchObject({ $p: [10, 20, 30], $q, $b: 10 });
});

test("in a Branch continues in the chosen case", async () => {
  const trial = new Trial(
    flow(
      [
        {
          id: "Branch_A",
          cases: [
            ["$n == 1", "Set_One"],
            ["ELSE", "Set_Else"],
          ],
          next: "Set_End",
        },
        set("Set_One", "$said", "='one ' + $n"),
        set("Set_Else", "$said", "else"),
        set("Set_End", "$end", "=$said + '.'"),
      ],
      ["$n(INT) = 1", "$said(STRING)", "$end(STRING)"],
    ),
  );
  const thread = await trial.run();
  const { variables } = await trial.again(thread, numberOf(thread, "Set_One"), { $n: 2 });
  expect(variables).toMatchObject({ $end: "one 2." });
  const { variables: chosen } = await trial.again(thread, numberOf(thread, "Branch_A"), { $n: 2 });
  expect(chosen).toMatchObject({ $end: "else." });
});
