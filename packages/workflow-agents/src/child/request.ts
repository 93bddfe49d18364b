import type { OwnProcesses } from "@uncaged/workflow/sandbox";

/** A command to run in a process group. `env` is its whole environment. */
export type GroupRequest = {
  argv: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  /** Open descriptors of this process that the command gets from number 3 on. */
  descriptors?: readonly number[];
  /** Whether the command is a sandbox, which ends all its processes. */
  isSandbox?: boolean;
  /** Grace period before the group is killed, in milliseconds. */
  graceMs: number;
  /** The result of `ownProcesses`. With it, every process that the command started ends with it. */
  own?: OwnProcesses | null;
};

// The last variable lets the next worker find leftovers of a killed one. The one before it keeps git in a thread's
// worktree.
const always =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_ALL|LC_CTYPE|TERM|TMPDIR|TZ|GIT_CEILING_DIRECTORIES|UNCAGED_WORKFLOW_WORKER)$/;

/** Returns the harmless variables and the listed ones. A name that ends in `*` matches a prefix. */
export function allowed(
  env: Readonly<Record<string, string>>,
  list: readonly string[],
): Record<string, string> {
  const isAllowed = (name: string) =>
    always.test(name) ||
    list.some((one) => (one.endsWith("*") ? name.startsWith(one.slice(0, -1)) : one === name));
  return Object.fromEntries(Object.entries(env).filter(([name]) => isAllowed(name)));
}
