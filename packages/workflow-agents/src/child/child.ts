import { stat } from "node:fs/promises";
import { type ProcessGroup, spawnGroup } from "./group.ts";
import type { GroupRequest } from "./request.ts";
import { commandNotStarted, missingFolder } from "./errors.ts";

/* The exported declarations avoid Node's types, because importers may not have these types installed. */

/** A command to run. `argv[0]` is looked up in the `PATH` of `env`. */
type ChildRequest = GroupRequest & {
  input?: string;
  signal: AbortSignal;
  timeoutMs: number;
  /** Aborted to end a command that has finished its work but does not exit. */
  finished?: AbortSignal;
  /** Called with the process id when the command runs. */
  onStarted?: (pid: number) => void;
  onOutput: (chunk: Uint8Array) => void;
  onError: (chunk: Uint8Array) => void;
};

/** The end of a command. `by` is the cause: the command's exit, the timeout, `finished`, or the caller's signal. */
export type ChildEnd = {
  by: "exit" | "timeout" | "finished" | "abort";
  /** Null if a signal ended the process. */
  exitCode: number | null;
  /** The name of the signal that ended the process, such as `SIGKILL`, or null. */
  signal: string | null;
};

/** The warning for a command whose leftover processes {@link ownProcesses} cannot end. */
export const leavesRunning =
  "processes that the command leaves in the background are not ended: bubblewrap is not available";

// A timer with a longer delay would fire at once.
const longestTimer = 2 ** 31 - 1;

/**
 * Runs a command, then ends the processes that the command left running. If a callback throws, the command is ended.
 */
export async function runChild(request: ChildRequest): Promise<ChildEnd> {
  const { signal, timeoutMs, input = "" } = request;
  if (signal.aborted) return { by: "abort", exitCode: null, signal: null };
  const { child, end: endGroup, ended, pid } = await start(request);
  request.onStarted?.(pid);
  let by: ChildEnd["by"] = "exit";
  let thrown: { error: unknown } | null = null;
  const stop = (why: ChildEnd["by"]) => {
    if (by !== "exit") return;
    by = why;
    void endGroup();
  };
  const abort = () => stop("abort");
  const timer = setTimeout(() => stop("timeout"), Math.min(timeoutMs, longestTimer));
  signal.addEventListener("abort", abort);
  request.finished?.addEventListener("abort", () => stop("finished"), { once: true });
  // The signal may have been aborted while the command was started.
  if (signal.aborted) abort();
  const feed = (take: (chunk: Uint8Array) => void) => (chunk: Uint8Array) => {
    if (thrown) return;
    try {
      take(chunk);
    } catch (error) {
      thrown = { error };
      stop("abort");
    }
  };
  child.stdout.on("data", feed(request.onOutput));
  child.stderr.on("data", feed(request.onError));
  child.stdin.end(input);
  try {
    const end = await ended;
    if (thrown) throw (thrown as { error: unknown }).error;
    return { by, ...end };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}

async function start(request: ChildRequest): Promise<ProcessGroup> {
  const { cwd } = request;
  const stats = await stat(cwd).catch(() => null);
  if (!stats?.isDirectory()) throw missingFolder(cwd);
  return await spawnGroup(request).catch((error: NodeJS.ErrnoException) => {
    throw commandNotStarted(request.argv[0] ?? "", error);
  });
}
