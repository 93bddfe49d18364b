import type { WorkflowFn } from "@uncaged/workflow";
import { runCommand, toolRegistry } from "../../src/entry/index.ts";

/* Runs the command in `params`, as a model's tool call does. */
export const descriptor = {
  description: "runs a command",
  roles: { runner: { description: "runs it", schema: {} } },
};

const tools = toolRegistry([runCommand()]);

export const run: WorkflowFn = async function* ({ params }, { cwd = "", env = {}, signal }) {
  const context = { cwd, env, signal: signal as AbortSignal };
  const { content } = await tools.run("runCommand", params, context);
  yield { role: "runner", content, meta: {} };
  return { returnCode: 0, summary: "" };
};
