import { expect, test } from "bun:test";
import type { StepDocument, ToolAdapter } from "../src/index.ts";
import { flow, ran } from "./ran.ts";

const vars = ["$text(STRING)", "$raw(OBJECT)", "$ok(BOOL)", "$error(STRING)", "$tags(ARRAY)"];
const reading = (more: Partial<StepDocument> = {}) =>
  flow(
    [
      {
        id: "Tool_010_ReadFile",
        input: { file_path: '="docs/spec.md"' },
        out: { $text: "=_result", $raw: "=_toolResult" },
        next: "Stop_End",
        ...more,
      },
      { id: "Stop_End" },
    ],
    { vars },
  );

const giving = (envelope: unknown): { tool: ToolAdapter } => ({
  tool: { execute: async () => envelope },
});

test("a tool's step publishes all that happens in exactly this order", async () => {
  const asked: unknown[] = [];
  const tool: ToolAdapter = {
    async execute(name, input, runtime) {
      asked.push([name, input, runtime.signal.aborted]);
      runtime.info("Reading", { file_path: "docs/spec.md" });
      await Promise.resolve();
      runtime.progress("Halfway", { bytes: 4096 });
      runtime.text("t");
      runtime.warn("w");
      runtime.error("e");
      runtime.emit("custom", { message: "own", n: 1 });
      return { result: "# Spec", diff: "d" };
    },
  };
  const { events, context } = await ran(reading(), {
    adapters: { tool },
    clientRunToken: "client:1",
  });
  const own = events.filter(({ stepID }) => stepID === "Tool_010_ReadFile");
  const message = (level: string, text: string, data: unknown = expect.anything()) => [
    "tool_message",
    { name: "ReadFile", level, message: text, data },
  ];
  expect(own.map(({ type, payload }) => [type, payload])).toEqual([
    ["step_start", { type: "Tool", meta: null, resolvedInputs: { file_path: "docs/spec.md" } }],
    [
      "tool_start",
      {
        name: "ReadFile",
        input: { file_path: "docs/spec.md" },
        inputSummary: expect.any(String),
      },
    ],
    message("info", "Reading", { file_path: "docs/spec.md" }),
    message("progress", "Halfway", { bytes: 4096 }),
    ["tool_message", expect.objectContaining({ level: "text", message: "t" })],
    ["tool_message", expect.objectContaining({ level: "warn", message: "w" })],
    ["tool_message", expect.objectContaining({ level: "error", message: "e" })],
    ["tool_message", expect.objectContaining({ level: "custom" })],
    [
      "tool_done",
      {
        name: "ReadFile",
        output: "# Spec",
        outputSummary: expect.any(String),
        toolResult: { result: "# Spec", diff: "d" },
      },
    ],
    ["var_changed", { name: "$text", oldValue: null, newValue: "# Spec" }],
    ["var_changed", { name: "$raw", oldValue: null, newValue: { result: "# Spec", diff: "d" } }],
    ["step_done", { outputs: { $text: "# Spec", $raw: { result: "# Spec", diff: "d" } } }],
  ]);
  for (const event of own) {
    expect(event).toMatchObject({ runID: context.runID, clientRunToken: "client:1" });
  }
  expect(asked).toEqual([["ReadFile", { file_path: "docs/spec.md" }, false]]);
});

test.each([
  ["Tool_010_ReadFile", {}, "ReadFile"],
  ["Tool_120_VLCompile", {}, "VLCompile"],
  ["Tool_Echo", {}, "Echo"],
  ["Tool_A", { toolName: "Other" }, "Other"],
  ["Tool_A", { tool: "First", toolName: "Other" }, "First"],
])("the tool of %s with %j is %s", async (id, fields, name) => {
  const called: string[] = [];
  const tool: ToolAdapter = { execute: async (given) => void called.push(given) };
  await ran(flow([{ id, ...fields, next: "RETURN" }]), { adapters: { tool } });
  expect(called).toEqual([name]);
});

test("the timeout is copied into the input, unless that has one", async () => {
  const inputs: unknown[] = [];
  const tool: ToolAdapter = { execute: async (_name, input) => void inputs.push(input) };
  await ran(reading({ timeout: 500 }), { adapters: { tool } });
  await ran(reading({ timeout: 500, input: { timeout: 9 } }), { adapters: { tool } });
  await ran(reading({ input: undefined, in: { file_path: "x" } }), { adapters: { tool } });
  expect(inputs).toEqual([
    { file_path: "docs/spec.md", timeout: 500 },
    { timeout: 9 },
    { file_path: "x" },
  ]);
});

test.each([
  ["throws", { execute: () => Promise.reject(new Error("no file")) }, "no file"],
  ["gives an error", { execute: async () => ({ error: "no file", undoId: 1 }) }, "no file"],
])("a tool that %s fails its step, unless that is allowed", async (_what, tool, text) => {
  const failed = await ran(reading(), { adapters: { tool } });
  expect(failed.error).toMatchObject({ stepID: "Tool_010_ReadFile" });
  expect(failed.of("Tool_010_ReadFile")).toBe("step_start tool_start tool_error step_error");
  expect(failed.payloads("tool_error")).toMatchObject([
    { name: "ReadFile", error: text, allowError: false },
  ]);
  for (const allow of [{ allowError: true }, { continueOnError: true }]) {
    const out = { $ok: "=_result.ok", $error: "=_result.error" };
    const allowed = await ran(reading({ ...allow, out }), { adapters: { tool } });
    expect(allowed.of("Tool_010_ReadFile")).toBe(
      "step_start tool_start tool_error var_changed var_changed step_done",
    );
    expect(allowed.variables).toMatchObject({ $ok: false, $error: text });
    expect(allowed.payloads("tool_error")).toMatchObject([
      { allowError: true, output: { ok: false, error: text, tool: "ReadFile" } },
    ]);
  }
});

test("an unknown tool of `tools` is a failure, a known one runs", async () => {
  const tools = { ReadFile: { execute: async () => ({ result: "r" }) } };
  const known = await ran(reading(), { tools });
  expect(known.variables.$text).toBe("r");
  const unknown = await ran(reading({ tool: "Nope" }), { tools });
  expect(unknown.of("Tool_010_ReadFile")).toBe("step_start tool_start tool_error step_error");
  expect(unknown.payloads("tool_error")[0]?.error).toContain("Nope");
  const inherited = await ran(reading({ tool: "toString" }), { tools });
  expect(inherited.status).toBe("failed");
});

test("a tool that fails is handled by onError", async () => {
  const document = flow(
    [
      { id: "Tool_A", onError: "Set_E", next: "RETURN" },
      { id: "Set_E", target: "$error", value: "=_error.message", next: "RETURN" },
    ],
    { vars },
  );
  const { status, variables } = await ran(document, {
    adapters: { tool: { execute: () => Promise.reject(new Error("no")) } },
  });
  expect([status, variables.$error]).toEqual(["completed", "no"]);
});

test("a tool that gives nothing gives null", async () => {
  const { variables, of } = await ran(reading(), { adapters: giving(undefined) });
  expect(variables).toMatchObject({ $text: null, $raw: null });
  expect(of("Tool_010_ReadFile")).toBe("step_start tool_start tool_done step_done");
});

test("a tool that gives what contains itself fails its step, with a sentence", async () => {
  const cyclic: Record<string, unknown> = { result: {} };
  cyclic.self = cyclic;
  const { error, events } = await ran(reading(), { adapters: giving(cyclic) });
  expect(error).toMatchObject({ stepID: "Tool_010_ReadFile" });
  expect(events.at(-1)?.type).toBe("workflow_failed");
});

test("fifty megabytes are too much for a log, and fail the step with a sentence", async () => {
  const { error, payloads } = await ran(reading(), {
    adapters: giving({ result: "x".repeat(50_000_000) }),
  });
  expect(error).toMatchObject({ code: "RESULT_TOO_LARGE", stepID: "Tool_010_ReadFile" });
  expect(String(payloads("workflow_failed")[0]?.error).length).toBeLessThan(1000);
});

test("twenty megabytes go to the variable whole, and into no event", async () => {
  const text = "x".repeat(20_000_000);
  const { variables, payloads, checkpoints } = await ran(reading({ out: "$text" }), {
    adapters: giving({ result: text }),
  });
  expect(variables.$text === text).toBe(true);
  expect(checkpoints[0]?.variables.$text === text).toBe(true);
  expect(payloads("tool_done")[0]).toMatchObject({ output: { _truncated: true } });
  expect(payloads("step_done")[0]).toMatchObject({ outputs: { $text: { _truncated: true } } });
});

test("what a tool reports after it has ended goes nowhere", async () => {
  let late: () => void = () => undefined;
  const tool: ToolAdapter = {
    execute: async (_name, _input, runtime) => {
      late = () => runtime.info("late");
      return 1;
    },
  };
  const { events } = await ran(reading(), { adapters: { tool } });
  const { length } = events;
  late();
  await Promise.resolve();
  expect(events).toHaveLength(length);
  expect(events.map(({ type }) => type)).not.toContain("tool_message");
});
