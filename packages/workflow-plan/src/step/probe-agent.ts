import { isInside, outermost, programOf, systemPaths } from "@uncaged/workflow/sandbox";
import type { Environment } from "@uncaged/workflow/host";
import { runInside } from "./run-inside.ts";
import type { CheckedSandbox } from "./view.ts";
import { agentNotRun } from "./errors.ts";

/** The result of running an agent in a sandbox once. */
export type ProbedAgent = {
  /** The host's files and folders that the sandbox shows read-only to the agent. */
  visible: string[];
  /** A harmless problem of the agent; null without a problem. */
  warning: string | null;
};

// A shell, env and the launcher exit with these codes if a program is missing or not executable.
const notExecutable = new Set([126, 127]);

/**
 * Runs an agent's command with `--version` in a sandbox, to find a missing interpreter or library when the plan is
 * confirmed instead of at its first step.
 * @throws ConfigError if the command is missing or not executable inside the sandbox.
 */
export async function probeAgent(
  checked: CheckedSandbox,
  { command, env }: { command: string; env: Environment },
): Promise<ProbedAgent> {
  const variables = Object.fromEntries(
    ["PATH", "HOME", "LANG"].flatMap((name) => {
      const value = env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
  const { container } = checked.sandbox;
  const { end, problem } = await runInside(checked, {
    ...{ command, args: ["--version"], env: variables },
  });
  if (end.by === "exit" && notExecutable.has(end.exitCode ?? 0)) {
    throw agentNotRun(command, problem, container?.image);
  }
  // An image contains its programs.
  const needs = container ? [] : (programOf(command, env)?.needs ?? []);
  const visible = outermost(needs).filter(
    (path) => !systemPaths.some((system) => isInside(path, system)),
  );
  const isWell = end.by === "exit" && end.exitCode === 0;
  return { visible, warning: isWell ? null : `the agent did not answer --version: ${problem}` };
}
