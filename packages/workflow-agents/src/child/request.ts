import type { OwnProcesses } from "@uncaged/workflow/sandbox";

/** A command to run in a process group. `env` is the complete environment of the command. */
export type GroupRequest = {
  argv: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  /** Open file descriptors of this process. The command gets them as descriptors 3, 4, …. */
  descriptors?: readonly number[];
  /** Whether the command is a sandbox that ends all processes in it. */
  isSandbox?: boolean;
  /** Grace period before the group is killed, in milliseconds. */
  graceMs: number;
  /** The result of `ownProcesses`. If set, all processes that the command started end with the command. */
  own?: OwnProcesses | null;
};

// `UNCAGED_WORKFLOW_WORKER` lets the next worker find child processes of a killed worker. `GIT_CEILING_DIRECTORIES`
// keeps git in a thread's worktree.
const always =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_ALL|LC_CTYPE|TERM|TMPDIR|TZ|GIT_CEILING_DIRECTORIES|UNCAGED_WORKFLOW_WORKER)$/;

/** Returns the harmless and the listed variables of an environment. A listed name that ends in `*` matches a prefix. */
export function allowed(
  env: Readonly<Record<string, string>>,
  list: readonly string[],
): Record<string, string> {
  const isAllowed = (name: string) =>
    always.test(name) ||
    list.some((one) => (one.endsWith("*") ? name.startsWith(one.slice(0, -1)) : one === name));
  return Object.fromEntries(Object.entries(env).filter(([name]) => isAllowed(name)));
}
