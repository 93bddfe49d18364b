import { describe, expect, test } from "bun:test";
import { outlineOf } from "./outline.ts";

const step = (id: string, fields: Record<string, unknown> = {}) => ({ id, ...fields });
const outline = (...steps: unknown[]) => outlineOf({ steps });

describe("the entries", () => {
  test("are the steps that no other step names", () => {
    const { entries } = outline(
      step("Pause_Ask", { next: "Branch_Which", timeout: { sec: 1, on: "Set_Late" } }),
      step("Branch_Which", {
        cases: [["$a", "LLM_Case"]],
        children: ["Set_Child"],
        next: "RETURN",
      }),
      step("LLM_Case", { onError: "Set_Handler" }),
      step("Set_Child"),
      step("Set_Handler"),
      step("Set_Late"),
    );
    expect(entries).toEqual(["Pause_Ask"]);
  });

  test("may be a step that names itself", () => {
    expect(outline(step("Set_A", { next: "Set_A" })).entries).toEqual(["Set_A"]);
  });

  test("are empty if all steps name each other", () => {
    const both = outline(step("Set_A", { next: "Set_B" }), step("Set_B", { next: "Set_A" }));
    expect(both.entries).toEqual([]);
  });
});

describe("the enclosures of a step", () => {
  test("are empty at the top level, even for a handler and for the target of a timeout", () => {
    const { enclosuresOf } = outline(
      step("LLM_A", { onError: "Set_Handler", next: "Pause_B" }),
      step("Set_Handler"),
      step("Pause_B", { timeout: { sec: 1, on: "Set_Late" } }),
      step("Set_Late"),
    );
    for (const id of ["LLM_A", "Set_Handler", "Pause_B", "Set_Late"]) {
      expect(enclosuresOf(id)).toEqual([[]]);
    }
  });

  test("name loop, branch and fork with the chain's first step, outermost first", () => {
    const { enclosuresOf } = outline(
      step("Loop_A", { children: ["Set_First"] }),
      step("Set_First", { next: "Branch_B" }),
      step("Branch_B", { cases: [["$x", "Fork_C"]] }),
      step("Fork_C", { children: ["Set_D", "Set_E"] }),
      step("Set_D", { next: "Set_Last" }),
      step("Set_E"),
      step("Set_Last"),
    );
    expect(enclosuresOf("Set_Last")).toEqual([
      [
        { in: "Loop_A", kind: "loop", child: "Set_First" },
        { in: "Branch_B", kind: "branch", child: "Fork_C" },
        { in: "Fork_C", kind: "fork", child: "Set_D" },
      ],
    ]);
  });

  test("list each construct that shares the step", () => {
    const { enclosuresOf } = outline(
      step("Fork_A", { children: ["Set_S"], next: "Fork_B" }),
      step("Fork_B", { children: ["Set_S"] }),
      step("Set_S"),
    );
    expect(enclosuresOf("Set_S")).toEqual([
      [{ in: "Fork_A", kind: "fork", child: "Set_S" }],
      [{ in: "Fork_B", kind: "fork", child: "Set_S" }],
    ]);
  });

  test("begin with the implicit fork if the document has several entries", () => {
    const { enclosuresOf } = outline(
      step("Set_A", { next: "Set_B" }),
      step("Set_B"),
      step("Set_C", { next: "Set_B" }),
    );
    expect(enclosuresOf("Set_B")).toEqual([
      [{ in: "__entry__", kind: "entry", child: "Set_A" }],
      [{ in: "__entry__", kind: "entry", child: "Set_C" }],
    ]);
  });

  test("exclude a construct that the step leads back to", () => {
    const { enclosuresOf, cycles } = outline(
      step("Noop_Start", { next: "Pause_Ask" }),
      step("Pause_Ask", { next: "Branch_Enough" }),
      step("Branch_Enough", {
        cases: [
          ["$bye", "Stop_End"],
          ["ELSE", "Pause_Ask"],
        ],
      }),
      step("Stop_End"),
    );
    expect(enclosuresOf("Pause_Ask")).toEqual([[]]);
    expect(enclosuresOf("Stop_End")).toEqual([
      [{ in: "Branch_Enough", kind: "branch", child: "Stop_End" }],
    ]);
    expect(cycles).toEqual([["Pause_Ask", "Branch_Enough"]]);
  });

  test("are limited to 100 nestings, however often branches meet again", () => {
    const rows = Array.from({ length: 60 }, (_, row) => [
      step(`Branch_${row}`, {
        cases: [
          ["$x", `Set_${row}a`],
          ["ELSE", `Set_${row}b`],
        ],
      }),
      step(`Set_${row}a`, { next: `Branch_${row + 1}` }),
      step(`Set_${row}b`, { next: `Branch_${row + 1}` }),
    ]);
    const { enclosuresOf } = outline(...rows.flat(), step("Branch_60"));
    expect(enclosuresOf("Branch_60")).toHaveLength(100);
  });

  test("are empty for a missing step", () => {
    expect(outline(step("Set_A")).enclosuresOf("Set_B")).toEqual([]);
  });
});

test("a step reaches itself, the steps inside it and the steps after it", () => {
  const { reachableFrom } = outline(
    step("Set_Before", { next: "Loop_A" }),
    step("Loop_A", { children: ["Set_In"], next: "Set_After" }),
    step("Set_In", { next: "BREAK" }),
    step("Set_After", { next: "RETURN" }),
  );
  expect([...reachableFrom("Loop_A")].toSorted()).toEqual(["Loop_A", "Set_After", "Set_In"]);
});

test("a step that names itself is a cycle", () => {
  expect(outline(step("Set_A", { next: "Set_A" })).cycles).toEqual([["Set_A"]]);
});

test("an outline accepts any value", () => {
  const odd = [
    null,
    1,
    {},
    { id: 1 },
    step("Set_A", { children: 3, cases: [1, [2]], timeout: null }),
  ];
  expect([...outline(...odd).steps.keys()]).toEqual(["Set_A"]);
  expect(outlineOf({ steps: { a: 1 } }).entries).toEqual([]);
});

test("the outline of 10,000 forks in a row does not overflow the stack", () => {
  const count = 10_000;
  const row = Array.from({ length: count }, (_, i) =>
    step(`Fork_${i}`, { children: [`Set_${i}`], next: `Fork_${i + 1}` }),
  );
  const { enclosuresOf, reachableFrom, entries } = outline(
    ...row,
    ...row.map((_, i) => step(`Set_${i}`)),
  );
  expect(entries).toEqual(["Fork_0"]);
  expect(enclosuresOf("Set_9999")).toHaveLength(1);
  expect(reachableFrom("Fork_0").size).toBe(2 * count);
});

describe("the container of a step", () => {
  const of = (...steps: unknown[]) => Object.fromEntries(outline(...steps).containers());

  test("is the construct that its chain runs in", () => {
    const found = of(
      step("Loop_A", { children: ["Branch_B"], next: "Set_End" }),
      step("Branch_B", { cases: [["x", "LLM_C"]], next: "Set_After" }),
      step("LLM_C", { next: "Set_D", onError: "Set_Late" }),
      step("Set_D"),
      step("Set_Late"),
      step("Set_After"),
      step("Set_End"),
    );
    expect(found).toEqual({
      Loop_A: null,
      Branch_B: "Loop_A",
      LLM_C: "Branch_B",
      Set_D: "Branch_B",
      Set_Late: "Branch_B",
      Set_After: "Loop_A",
      Set_End: null,
    });
  });

  test("of a step in two constructs is the construct that encloses both", () => {
    const found = of(
      step("Loop_A", { children: ["Fork_B", "Fork_C"] }),
      step("Fork_B", { children: ["Set_D"] }),
      step("Fork_C", { children: ["Set_D"] }),
      step("Set_D", { next: "Set_E" }),
      step("Set_E"),
    );
    expect(found).toMatchObject({ Fork_B: "Loop_A", Set_D: "Loop_A", Set_E: "Loop_A" });
  });

  test("does not change in a cycle, and 10,000 constructs in a row take linear time", () => {
    const found = of(
      step("Noop_A", { next: "Branch_B" }),
      step("Branch_B", {
        cases: [
          ["x", "Noop_A"],
          ["ELSE", "Stop_C"],
        ],
      }),
      step("Stop_C"),
    );
    expect(found).toEqual({ Noop_A: null, Branch_B: null, Stop_C: "Branch_B" });
    const row = Array.from({ length: 10_000 }, (_, n) =>
      step(`Set_${n}`, { next: `Set_${n + 1}` }),
    );
    expect(outline(...row).containers().size).toBe(10_000);
  });
});
