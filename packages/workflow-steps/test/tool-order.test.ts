import { expect, test } from "bun:test";
import type { StepDocument, ToolAdapter } from "../src/entry/index.ts";
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

test("a tool step publishes its events in exactly this order", async () => {
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

test("an unknown tool in `tools` fails, and a known tool runs", async () => {
  const tools = { ReadFile: { execute: async () => ({ result: "r" }) } };
  const known = await ran(reading(), { tools });
  expect(known.variables.$text).toBe("r");
  const unknown = await ran(reading({ tool: "Nope" }), { tools });
  expect(unknown.of("Tool_010_ReadFile")).toBe("step_start tool_start tool_error step_error");
  expect(unknown.payloads("tool_error")[0]?.error).toContain("Nope");
  const inherited = await ran(reading({ tool: "toString" }), { tools });
  expect(inherited.status).toBe("failed");
});
