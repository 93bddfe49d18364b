import { expect, test } from "bun:test";
import { Engine } from "../src/entry/index.ts";
import { flow, ran } from "./ran.ts";

test("an expression is evaluated in every field that accepts one", async () => {
  const registry = {
    params: ["goal(STRING)"],
    vars: ["$n(INT) = 2", "$a(ARRAY)", "$text(STRING)", "$r(OBJECT)", "$reply(OBJECT)"],
    files: { artifacts: ["out/**"] },
  };
  const written: [string, unknown, string][] = [];
  const file = {
    read: async () => "",
    write: async (path: string, data: string | Uint8Array, mode: string) => {
      written.push([path, data, mode]);
      return { size_bytes: data.length };
    },
    exists: async () => false,
    remove: async () => undefined,
    list: async () => [],
  };
  const asked: unknown[] = [];
  const service = { call: async (...call: unknown[]) => void asked.push(call.slice(0, 2)) };
  const steps = [
    { id: "Set_A", if: "$n == 2", target: "$a", value: ["=$n", "==x", "y"], next: "Loop_A" },
    { id: "Loop_A", source: "=$a", children: ["Branch_A"], next: "Service_F" },
    {
      id: "Branch_A",
      cases: [
        ["_index == 0", "Set_First"],
        ["=_item == '=x'", "Set_Second"],
        ["ELSE", "Set_Other"],
      ] as [string, string][],
      next: "RETURN",
    },
    { id: "Set_First", target: "$r.first", value: "=_iterDir", next: "RETURN" },
    { id: "Set_Second", target: "$r.second[_index]", value: "=_item", next: "RETURN" },
    { id: "Set_Other", target: "$r.{_item}", value: "=SYSVAR.workflow", next: "RETURN" },
    {
      id: "Service_F",
      in: { to: "=goal", list: [{ n: "=$n * 2" }] },
      out: { $text: "=_result == null", "/out/{$n}.txt": "=$r" },
      print: "='sent to ' + goal",
      next: "Loop_W",
    },
    { id: "Loop_W", while: "$n < 4", maxIterations: 9, children: ["Set_N"], next: "Write_A" },
    { id: "Set_N", target: "$n", value: "=$n + 1", next: "RETURN" },
    { id: "Write_A", target: "='out/' + $n", value: "=$n", next: "Pause_A" },
    {
      id: "Pause_A",
      reason: "=goal + '?'",
      resumeResultTarget: "$reply.{goal}",
      next: "Stop_A",
    },
    { id: "Stop_A", reason: "=goal + '!'" },
  ];
  const document = flow(steps, { ...registry, services: ["F(to(STRING))"] });
  const { context, error, payloads, events } = await ran(document, {
    params: { goal: "G" },
    adapters: { file, service },
  });
  expect(error).toBeNull();
  expect(payloads("pause_start")).toMatchObject([{ reason: "G?" }]);
  const token = context.snapshot().paused?.token ?? "";
  expect(await context.resume({ token, payload: { yes: true } })).toEqual({ ok: true });
  await context.done;
  expect(context.snapshot()).toMatchObject({
    status: "stopped",
    variables: {
      $n: 4,
      $a: [2, "=x", "y"],
      $r: { first: "Loop_A_0", second: [null, "=x"], y: "flow" },
      $text: true,
      $reply: { G: { yes: true } },
    },
  });
  expect(asked).toEqual([["F", { to: "G", list: [{ n: 4 }] }]]);
  expect(written.map(([path]) => path)).toEqual(["out/2.txt", "out/4"]);
  expect(JSON.parse(String(written[0]?.[1]))).toEqual({
    first: "Loop_A_0",
    second: [null, "=x"],
    y: "flow",
  });
  expect(payloads("step_print", "Service_F")).toEqual([{ value: "sent to G" }]);
  expect(events.at(-1)).toMatchObject({ type: "workflow_done", payload: { stop_id: "Stop_A" } });
});

test("print is published after any step succeeds, before its step_done", async () => {
  const steps = [
    { id: "Noop_A", print: "='fork of ' + 2", children: ["Set_A", "Set_B"], next: "Branch_A" },
    { id: "Set_A", target: "$x", value: 1, print: "=$x", next: "RETURN" },
    { id: "Set_B", target: "$y", value: 2, print: "plain", next: "RETURN" },
    {
      id: "Branch_A",
      cases: [["ELSE", "Set_C"]] as [string, string][],
      print: "=$x",
      next: "Loop_A",
    },
    { id: "Set_C", target: "$x", value: 5, next: "RETURN" },
    { id: "Loop_A", source: [1], children: ["Set_D"], print: { all: "=$x" }, next: "Stop_A" },
    { id: "Set_D", target: "$x", value: 7, next: "RETURN" },
    { id: "Stop_A", print: "bye" },
  ];
  const { payloads, of } = await ran(flow(steps, { vars: ["$x(INT)", "$y(INT)"] }));
  expect(payloads("step_print").map(({ value }) => value)).toEqual([
    1,
    "plain",
    "fork of 2",
    5,
    { all: 7 },
    "bye",
  ]);
  expect(of("Branch_A")).toBe("step_start step_print step_done");
  expect(of("Stop_A")).toBe("step_start step_print step_done");
});

test("a print that can't be evaluated fails its step", async () => {
  const { status, of } = await ran(flow([{ id: "Noop_A", print: "=1 / 0", next: "RETURN" }]));
  expect([status, of("Noop_A")]).toEqual(["failed", "step_start step_error"]);
});

test.each(["=$x = 1", "=f(1)", "=$x ? 1 : 2", "='open", "=($x", "=$x[1"])(
  "%s is reported by the validator with its step, and does not run",
  async (value) => {
    const document = flow([{ id: "Set_A", target: "$x", value, next: "RETURN" }], {
      vars: ["$x(INT)"],
    });
    expect(new Engine(document).validate()).toEqual([expect.stringMatching(/^Set_A: /)]);
    expect(ran(document)).rejects.toMatchObject({ code: "WORKFLOW_INVALID" });
  },
);
