import { stat } from "node:fs/promises";
import type { WorkflowError } from "@uncaged/workflow";
import { failure } from "../run/error.ts";
import { endGroup, type GroupRequest, type ProcessGroup, spawnGroup } from "./group.ts";

/**
 * A command to run. `argv[0]` is looked up in the `PATH` of `env`. Chunks are given as they come and kept
 * nowhere. At a timeout or an abort its group gets SIGTERM, and SIGKILL after `graceMs`.
 */
export type ChildRequest = GroupRequest & {
  input?: string;
  signal: AbortSignal;
  timeoutMs: number;
  onOutput: (chunk: Uint8Array) => void;
  onError: (chunk: Uint8Array) => void;
};

/** How a command ended: it exited, or was ended by its timeout or an abort. */
export type ChildEnd = {
  by: "exit" | "timeout" | "abort";
  exitCode: number | null;
  signal: string | null;
};

// A longer one would end at once.
const longestTimer = 2 ** 31 - 1;

/**
 * Runs a command to its end, and ends what it left running. What a callback throws ends it too.
 *
 * @throws WorkflowError `COMMAND_MISSING`, `COMMAND_REFUSED` when it can't be started.
 */
export async function runChild(request: ChildRequest): Promise<ChildEnd> {
  const { signal, timeoutMs, graceMs, input = "" } = request;
  if (signal.aborted) return { by: "abort", exitCode: null, signal: null };
  const { child, pid, ended } = await start(request);
  let by: ChildEnd["by"] = "exit";
  let thrown: { error: unknown } | null = null;
  const stop = (why: ChildEnd["by"]) => {
    if (by !== "exit") return;
    by = why;
    void endGroup(pid, graceMs);
  };
  const abort = () => stop("abort");
  const timer = setTimeout(() => stop("timeout"), Math.min(timeoutMs, longestTimer));
  signal.addEventListener("abort", abort);
  // It may have been aborted while the command was started.
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
  const isFolder = await stat(cwd).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
  if (!isFolder) {
    const message = `the working directory ${JSON.stringify(cwd)} is not there`;
    const hint = "start the thread again from a folder that is there";
    throw failure("COMMAND_REFUSED", message, hint);
  }
  return await spawnGroup(request).catch((error: NodeJS.ErrnoException) => {
    throw refusal(request, error);
  });
}

function refusal({ argv }: ChildRequest, error: NodeJS.ErrnoException): WorkflowError {
  const name = JSON.stringify((argv[0] ?? "").slice(0, 200));
  const [code, problem, hint] = problemOf(error);
  return failure(code, `the command ${name} ${problem}`, hint, { cause: error });
}

function problemOf({ code, message }: NodeJS.ErrnoException): [string, string, string] {
  switch (code) {
    case "ENOENT":
      return ["COMMAND_MISSING", "is not there", "install it, or set PATH so that it is found"];
    case "EACCES":
      return ["COMMAND_REFUSED", "may not be run", "make it executable"];
    case "E2BIG":
      return ["COMMAND_REFUSED", "got too long arguments", "give it the prompt by stdin"];
    case "ERR_INVALID_ARG_VALUE":
      return ["COMMAND_REFUSED", "got an argument with a zero byte", "take it out"];
    default:
      return ["COMMAND_REFUSED", `can't be started: ${message}`, "run it by hand to see why"];
  }
}
