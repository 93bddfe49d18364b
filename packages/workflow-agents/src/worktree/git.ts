import { gitSettings, gitVariables } from "@uncaged/workflow/interpreter";
import { isWorkflowError } from "@uncaged/workflow";
import { ownProcesses } from "@uncaged/workflow/sandbox";
import { runChild } from "../child/child.ts";
import { allowed } from "../child/request.ts";
import { oneLine } from "../run/error.ts";
import { ownGitDir } from "./own-git-dir.ts";
import { gitFailed, gitMissing, gitTooOld } from "./errors.ts";

/**
 * The context of a thread's git commands. `folder` belongs to the thread, and processes in a repository cannot write to
 * it. `identity` has the environment variables for a committer if the user's git settings do not have one.
 */
export type GitContext = {
  folder: string;
  env: Readonly<Record<string, string>>;
  signal: AbortSignal;
  identity?: Readonly<Record<string, string>>;
};

/**
 * The place of a git command: the common directory of a repository, and the git directory of a worktree, if any. Only
 * with `inFolder`, git searches for a repository above a folder, so an agent's changes to the `.git` of its worktree
 * never lead to another repository. Only with `inFolder`, git reads the settings of a repository, so use it only for
 * commands that find a repository and do not start programs.
 */
export type GitPlace =
  | { repository: string; gitDir?: string; workTree?: string }
  | { inFolder: string };

export type GitEnd = { code: number; output: string; error: string };

type GitOptions = {
  input?: string;
  /** The exit codes that mean success (only 0 by default). */
  answers?: readonly number[];
  index?: string;
};

const timeoutMs = 10 * 60_000;
const graceMs = 2000;
const mostOutput = 64 * 1024 * 1024;
/** Maximum wait for the lock of another process, in milliseconds. */
const lockedMs = 30_000;

// Matches git's messages about a lock that another process has or just had, and about a worktree that another process
// is creating.
const isLocked =
  /Unable to create '.*': File exists|cannot lock ref|could not lock|Another git process|failed to read .*commondir/;

/**
 * Runs git without the user's hooks, and returns its output. Retries while another git process has a lock.
 *
 * @throws WorkflowError `GIT_MISSING`, `GIT_FAILED`; the signal's reason if the thread is killed.
 */
export async function git(
  context: GitContext,
  place: GitPlace,
  args: readonly string[],
  options: GitOptions = {},
): Promise<GitEnd> {
  const { answers = [0] } = options;
  const started = performance.now();
  for (let delay = 20; ; delay = Math.min(2 * delay, 1000)) {
    const end = await runOnce(context, place, args, options);
    if (answers.includes(end.code)) return end;
    if (!isLocked.test(end.error) || performance.now() - started > lockedMs) {
      throw gitFailure(args, place, end);
    }
    await new Promise((done) => setTimeout(done, delay * (0.5 + Math.random())));
    context.signal.throwIfAborted();
  }
}

async function runOnce(
  context: GitContext,
  place: GitPlace,
  args: readonly string[],
  options: GitOptions,
): Promise<GitEnd> {
  if ("inFolder" in place) return await spawned(context, place.inFolder, args, options);
  const { repository, gitDir = repository, workTree } = place;
  const list = async (input: string): Promise<string> => {
    const listing = ["config", "--file", "-", "--no-includes", "--list", "-z"];
    const { code, output } = await spawned(context, "/", listing, { input });
    return code === 0 ? output : "";
  };
  const own = {
    GIT_DIR: gitDir,
    GIT_COMMON_DIR: await ownGitDir(context.folder, repository, list),
    ...(workTree !== undefined && { GIT_WORK_TREE: workTree }),
  };
  return await spawned(context, workTree ?? gitDir, args, { ...options, own });
}

async function spawned(
  { env, signal, identity }: GitContext,
  cwd: string,
  args: readonly string[],
  { input, index, own }: GitOptions & { own?: Readonly<Record<string, string>> },
): Promise<GitEnd> {
  const output: Uint8Array[] = [];
  const error: Uint8Array[] = [];
  let size = 0;
  const take = (list: Uint8Array[]) => (chunk: Uint8Array) => {
    size += chunk.length;
    if (size <= mostOutput) list.push(chunk);
  };
  const end = await runChild({
    argv: ["git", ...gitSettings, ...args],
    cwd,
    env: {
      ...allowed(env, ["XDG_CONFIG_HOME"]),
      ...own,
      ...identity,
      ...(index !== undefined && { GIT_INDEX_FILE: index }),
      ...gitVariables,
      LC_ALL: "C",
    },
    ...{ signal, timeoutMs, graceMs, input, own: await ownProcesses() },
    onOutput: take(output),
    onError: take(error),
  }).catch((thrown: unknown) => {
    throw isWorkflowError(thrown) && thrown.code === "COMMAND_MISSING"
      ? gitMissing(thrown)
      : thrown;
  });
  signal.throwIfAborted();
  const text = (list: Uint8Array[]) => Buffer.concat(list).toString("utf8");
  return { code: end.exitCode ?? 128, output: text(output), error: text(error) };
}

function gitFailure(args: readonly string[], place: GitPlace, { error, code }: GitEnd) {
  const folder = "inFolder" in place ? place.inFolder : (place.workTree ?? place.repository);
  const lines = error.trim().split("\n");
  const why = lines.find((line) => /^(fatal|error):/.test(line)) ?? lines.at(-1) ?? "";
  return gitFailed(args[0] ?? "", folder, oneLine(why, 500) || `exit code ${code}`);
}

const oldest = [2, 25] as const;
const known = new Map<string, Promise<void>>();

/** Checks the version of git. @throws WorkflowError `GIT_MISSING`, `GIT_TOO_OLD`. */
export async function checkGit(context: GitContext, folder: string): Promise<void> {
  const path = context.env.PATH ?? "";
  const checked = known.get(path) ?? checkVersion(context, folder);
  known.set(path, checked);
  await checked.catch((error: unknown) => {
    known.delete(path);
    throw error;
  });
}

async function checkVersion(context: GitContext, folder: string): Promise<void> {
  const { output } = await git(context, { inFolder: folder }, ["version"]);
  const [, major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(output) ?? []).map(Number);
  if (major > oldest[0] || (major === oldest[0] && minor >= oldest[1])) return;
  throw gitTooOld(oldest.join("."), oneLine(output, 100));
}
