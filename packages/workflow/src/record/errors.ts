import { WorkflowError } from "../contract/error.ts";
import { show } from "../contract/show.ts";

export const notFound = (
  text: string,
  hint = "list them: uncaged-workflow threads",
): WorkflowError =>
  WorkflowError.missing(
    "THREAD_NOT_FOUND",
    text === "@last" ? "no thread found" : `no thread ${show(text)} found`,
    hint,
  );

/** `shown`: the first of the `count` matching ids. */
export const threadAmbiguous = (text: string, count: number, shown: string): WorkflowError =>
  WorkflowError.usage(
    "THREAD_AMBIGUOUS",
    `${show(text)} matches ${count} threads`,
    `give more of the id: ${shown}`,
  );

const mostRoles = 20;

const roleHint = (roles: readonly string[]): string =>
  roles.length > 0
    ? `use one of its roles: ${roles.slice(0, mostRoles).join(", ")}`
    : "wait for its first step";

const noStep = (code: string, message: string, roles: readonly string[]): WorkflowError =>
  WorkflowError.missing(code, message, roleHint(roles));

/** `roles`, here and below: the roles of the thread's steps. `nearest`: the role most similar to `role`. */
export const roleNotFound = (
  role: string,
  roles: readonly string[],
  nearest: string | null,
): WorkflowError =>
  WorkflowError.missing(
    "NO_SUCH_ROLE",
    `no step of the role ${show(role)} found in the thread`,
    nearest === null ? roleHint(roles) : `did you mean ${nearest}?`,
  );

export const roleStepNotFound = (
  role: { name: string; steps: number },
  nth: string | undefined,
  roles: readonly string[],
): WorkflowError =>
  noStep("NO_SUCH_STEP", `the role ${show(role.name)} has ${role.steps} steps, not ${nth}`, roles);

export const stepNotFound = (
  steps: number,
  wanted: number,
  roles: readonly string[],
): WorkflowError => noStep("NO_SUCH_STEP", `the thread has ${steps} steps, not ${wanted}`, roles);

export const badKeptStep = (index: number, roles: readonly string[]): WorkflowError =>
  noStep("NO_SUCH_STEP", `invalid step ${index} in the list of steps to keep`, roles);

/** `how`: the kind of the end, such as `returned 0`. */
export const endedError = (threadId: string, how: string): WorkflowError =>
  WorkflowError.failed(
    "THREAD_ENDED",
    `${threadId} has ended (${how}); its log is final`,
    afterEnd(threadId, how),
  );

function afterEnd(threadId: string, how: string): string {
  switch (how) {
    case "completed":
    case "returned 0":
      return `continue from its steps in a new thread: uncaged-workflow fork ${threadId}`;
    case "maxRounds":
      return `give it more rounds in a new thread: uncaged-workflow retry ${threadId} --max-rounds N`;
    case "ended":
      return `see how: uncaged-workflow thread ${threadId}`;
    default:
      return `continue in a new thread: uncaged-workflow retry ${threadId}`;
  }
}

/** `host`: a cluster's URL, or the storage root of a machine. */
export const movedError = (threadId: string, host: string): WorkflowError => {
  // A database's URL may have parameters, which a shell would interpret.
  const word = /[?&]/.test(host) ? `'${host}'` : host;
  return WorkflowError.failed(
    "THREAD_MOVED",
    `${threadId} has moved to ${host}`,
    host.includes("://")
      ? `continue there: --host ${word}; or bring it here: uncaged-workflow pull ${threadId} --host ${word}`
      : `continue there; or bring it back from there: uncaged-workflow push ${threadId} --host URL, with this cluster's or database's URL`,
  );
};

export const movesNotRunning = (threadId: string): WorkflowError =>
  WorkflowError.failed(
    "THREAD_RUNNING",
    `${threadId} is running; a thread can only move between two steps`,
    `pause it first: uncaged-workflow pause ${threadId}`,
  );

export const notRecovered = (threadId: string, reason: string): WorkflowError =>
  WorkflowError.failed(
    "NOT_RECOVERED",
    `${threadId} is not resumed automatically: ${reason}`,
    `resume it yourself: uncaged-workflow resume ${threadId}`,
  );

export const corruptError = (
  path: string,
  { line, offset, reason }: { line: number; offset: number; reason: string },
): WorkflowError =>
  WorkflowError.failed(
    "LOG_CORRUPT",
    `${path}:${line}: ${reason} (byte ${offset})`,
    `restore the file from a backup${forkBefore(path, line)}`,
  );

/** Returns the command that forks the steps before a line of a data log; empty when there are no steps before it. */
function forkBefore(path: string, line: number): string {
  const [, threadId] = /([0-9A-Z]{26})\.data\.jsonl$/.exec(path) ?? [];
  if (threadId === undefined || line < 3) return "";
  return `, or fork the steps before that line: uncaged-workflow fork ${threadId} --at-step ${line - 2}`;
}

/**
 * A journal, or the recorded entries of a step, is damaged at a place: finished calls can't be distinguished from calls
 * that never started.
 */
export const journalCorrupt = (place: string, reason: string, threadId: string): WorkflowError =>
  WorkflowError.failed(
    "LOG_CORRUPT",
    `${place}: ${reason}`,
    `restore the file from a backup, or repeat the step with its tool calls: uncaged-workflow fork ${threadId} --anew`,
  );

export const newerLog = (path: string, role: string): WorkflowError =>
  WorkflowError.failed(
    "NEWER_LOG",
    `${path}: a newer version wrote the step ${show(role)}`,
    "continue the thread with that version; nothing was changed",
  );

/** A log is shorter than the position at which a reader continues. */
export const replacedError = (path: string): WorkflowError =>
  WorkflowError.failed(
    "LOG_REPLACED",
    `${path} is shorter than the part already read`,
    "read it again from the start",
  );

export const badPosition = (cursor: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_POSITION",
    `${show(cursor)} is not a position in this thread`,
    "give the id of an event of this thread's stream, or none to read from the start",
  );

export const builtInReplaced = (): WorkflowError =>
  WorkflowError.failed(
    "BUILT_IN_REPLACED",
    "the bundle replaced a built-in that computes the checksums of logs",
    "end the worker, then resume: uncaged-workflow kill --force <thread>",
  );
