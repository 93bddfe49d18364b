/** What runs in a process group: `env` is all the environment that it gets. */
export type GroupRequest = {
  argv: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  /** Open descriptors of this process that it gets from number 3 on. */
  descriptors?: readonly number[];
  /** How long the group may take to end when it is asked to. */
  graceMs: number;
};

// By the last the next worker finds what a killed one has left; the one before keeps git in a thread's worktree.
const always =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_ALL|LC_CTYPE|TERM|TMPDIR|TZ|GIT_CEILING_DIRECTORIES|UNCAGED_WORKFLOW_WORKER)$/;

/** The variables that hold no secret, and those of a list. A name that ends in `*` is all with that prefix. */
export function allowed(
  env: Readonly<Record<string, string>>,
  list: readonly string[],
): Record<string, string> {
  const isAllowed = (name: string) =>
    always.test(name) ||
    list.some((one) => (one.endsWith("*") ? name.startsWith(one.slice(0, -1)) : one === name));
  return Object.fromEntries(Object.entries(env).filter(([name]) => isAllowed(name)));
}
