import { gitSettings, gitVariables } from "../../contract/worktree.ts";
import { system } from "../../system/system.ts";

/** What git puts out of a repository, or the line by which it says why not. It looks for no other repository. */
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
  return { problem: ended ? why || `exit code ${ended.exitCode}` : "git is not there" };
}
