import type { Role } from "@uncaged/workflow";
import { currentRun, runCommand, runTool, toolRegistry, withRun } from "@uncaged/workflow-agents";

const tools = toolRegistry([runCommand({ timeoutMs: 300_000 })]);

/**
 * Runs the tests of the repository in which the thread was started. The exit code, not a model, decides whether the
 * tests pass. `--option 'test=["make","test"]'` sets the command; the default is `node --test`.
 */
export const tester: Role<{ passed: boolean }> = async (ctx) => {
  const { cwd, env = {}, signal = new AbortController().signal, options = {} } = ctx;
  const argv = options.test ?? ["node", "--test"];
  const outcome = await withRun({ ...currentRun(), stepID: "tester" }, () =>
    runTool(tools, "runCommand", { argv }, { cwd, env, signal }),
  );
  if (!outcome.ok) throw outcome.error;
  const passed = (outcome.toolResult as { exitCode: number | null }).exitCode === 0;
  return {
    content: `The tests ${passed ? "pass" : "fail"}.\n\n${outcome.content}`,
    meta: { passed },
  };
};

export const testerEntry = {
  description: "Runs the tests",
  schema: { type: "object", properties: { passed: { type: "boolean" } }, required: ["passed"] },
};
