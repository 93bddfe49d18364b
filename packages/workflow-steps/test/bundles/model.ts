import type { WorkflowFn } from "@uncaged/workflow";
import { anthropicModels, modelAdapter } from "../../src/entry/adapters.ts";

export const descriptor = {
  description: "asks one model",
  roles: { asked: { description: "asks", schema: {} } },
};

export const run: WorkflowFn = async function* ({ prompt }, options) {
  const llm = modelAdapter({ models: [anthropicModels()], options });
  const ignore = () => undefined;
  const { content } = await llm.call(
    { model: "claude-opus-5-5", messages: [{ role: "user", content: prompt }] },
    ignore,
    { onToken: ignore, onThinking: ignore, onToolUse: ignore, onToolResult: ignore },
    { signal: options.signal ?? new AbortController().signal, runID: "r", stepID: "LLM_A" },
  );
  yield { role: "asked", content: String(content), meta: {} };
  return { returnCode: 0, summary: "" };
};
