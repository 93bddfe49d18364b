import { gitSettings, gitVariables } from "../../contract/worktree.ts";
import { system } from "../../system/system.ts";

/** Runs git in a repository and returns its output, or its error line. Does not search for other repositories. */
export async function git(
  repository: string,
  args: readonly string[],
  input = "",
): Promise<{ output: string } | { problem: string }> {
  const argv = ["git", `--git-dir=${repository}`, ...gitSettings, ...args];
  const ended = await system.processes.run(argv, input, gitVariables);
  if (ended?.exitCode === 0) return { output: ended.output };
  const lines = ended?.error.trim().split("\n") ?? [];
  const why = lines.find((line) => /^(fatal|error): /.test(line)) ?? lines.at(-1);
  return { problem: ended ? why || `exit code ${ended.exitCode}` : "git is not installed" };
}
