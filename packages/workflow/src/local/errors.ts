import { WorkflowError } from "../contract/error.ts";
import { show } from "../contract/show.ts";

/* The errors of the local host: its threads, its workers, its names and its cleanup. */

export const answerFromStep = (): WorkflowError =>
  WorkflowError.failed(
    "ANSWER_FROM_STEP",
    "only a person can decide: a step started this process",
    "answer in your own terminal: uncaged-workflow resume <id> --input 'your answer', or --approve",
  );

export const startUnreadable = (threadId: string): WorkflowError =>
  WorkflowError.failed(
    "LOG_CORRUPT",
    `${threadId}: unreadable start record`,
    "find the damage: uncaged-workflow verify",
  );

/** The machine's clock is set to a year outside of the range of thread ids. */
export const clockWrong = (year: number): WorkflowError =>
  WorkflowError.failed(
    "CLOCK_WRONG",
    `the clock of this machine is set to the year ${year}, outside of the range of thread ids`,
    "set the clock, or give an id: --thread-id",
  );

const otherThreadHint = (threadId: string): string =>
  `give another id; look at this thread: uncaged-workflow thread ${threadId}`;

/** A start uses the id of a thread of another workflow. */
export const ofOtherWorkflow = (threadId: string, workflow: string): WorkflowError =>
  WorkflowError.failed(
    "THREAD_EXISTS",
    `${threadId} is a thread of another workflow: ${show(workflow)}`,
    otherThreadHint(threadId),
  );

/** A start or a fork uses the id of a thread with another source, or without a source. */
export const ofOtherSource = (threadId: string, source: string | null): WorkflowError =>
  WorkflowError.failed(
    "THREAD_EXISTS",
    source === null ? `${threadId} exists and is not a fork` : `${threadId} is a fork of ${source}`,
    otherThreadHint(threadId),
  );

export const badMaxRounds = (given: unknown, most: number): WorkflowError =>
  WorkflowError.usage(
    "BAD_MAX_ROUNDS",
    `invalid maxRounds ${String(given)}`,
    `give a whole number from 1 to ${most}`,
  );

export const reservedOption = (name: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_OPTION",
    `the option ${show(name)} is reserved for the engine`,
    "use another name",
  );

export const nothingToEdit = (threadId: string): WorkflowError =>
  WorkflowError.usage(
    "NOTHING_TO_EDIT",
    `the fork of ${threadId} does not keep a step to edit`,
    "keep at least one step: --from-role R or --at-step N",
  );

/** A registered bundle is missing: `gc` can't determine which bundles are in use. */
export const registeredBundleMissing = (registry: string, hash: string): WorkflowError =>
  WorkflowError.failed(
    "BUNDLE_MISSING",
    `${registry}: the bundle ${hash} is not stored, so unused bundles can't be determined`,
    "add the same file again, remove the name, or correct the hash",
  );

export const movedLogTorn = (path: string): WorkflowError =>
  WorkflowError.failed(
    "LOG_CORRUPT",
    `${path}: the moved log ends within a record`,
    "move it again",
  );

export const worktreeLocked = (
  worktree: { path: string; repository: string },
  threadId: string,
): WorkflowError =>
  WorkflowError.failed(
    "WORKTREE_LOCKED",
    `the worktree ${worktree.path} of ${threadId} is locked`,
    `unlock it: git --git-dir ${worktree.repository} worktree unlock ${worktree.path}`,
  );

export const worktreeRefsKept = (repository: string, problem: string): WorkflowError =>
  WorkflowError.failed(
    "WORKTREE_NOT_REMOVED",
    `${repository}: can't delete the refs of the thread's worktrees: ${problem}`,
  );

export const workerOutOfSight = (hash: string): WorkflowError =>
  WorkflowError.failed(
    "WORKER_OUT_OF_SIGHT",
    `the worker of ${hash} does not respond, and its process is not visible from here`,
    "end it where it runs: in another container, or as another user",
  );

export const workerLost = (hash: string, cause: unknown): WorkflowError =>
  WorkflowError.failed(
    "WORKER_LOST",
    `the worker of ${hash} ended before it responded`,
    "check the thread's status; committed steps are kept: uncaged-workflow threads",
    cause,
  );

export const workerSilent = (hash: string, timeoutMs: number): WorkflowError =>
  WorkflowError.failed(
    "WORKER_SILENT",
    `the worker of ${hash} did not respond within ${timeoutMs / 1000} s`,
    "if a role or the disk blocks it, end it and resume its other threads: uncaged-workflow kill --force <thread>",
  );

export const workerFailed = (
  hash: string,
  exit: { code: number | null; reason: string },
  log: string,
): WorkflowError =>
  WorkflowError.failed(
    "WORKER_FAILED",
    `the worker of ${hash} ended with ${exit.code}: ${exit.reason}`,
    `see its log: ${log}`,
  );

export const devRunning = (name: string): WorkflowError =>
  WorkflowError.failed(
    "DEV_RUNNING",
    `another dev of ${name} is running`,
    "end it, or use another name: --name",
  );

export const alreadyBundle = (file: string): WorkflowError =>
  WorkflowError.usage(
    "NOT_A_SOURCE",
    `${show(file)} is already a bundle`,
    "register it: uncaged-workflow add <name> <file>",
  );

/** `status`: the status of an unfinished thread. */
export const notAttestable = (threadId: string, status: string): WorkflowError =>
  WorkflowError.failed(
    "THREAD_NOT_ENDED",
    `${threadId} is ${status}: only ended threads can be attested`,
    `see what it needs: uncaged-workflow thread ${threadId}`,
  );

/** `problem`: the problem of a value in the thread's log. */
export const notStatable = (problem: string): WorkflowError =>
  WorkflowError.failed(
    "NOT_ATTESTABLE",
    `the thread can't be attested: ${problem}`,
    "attest it with the version that wrote its log",
  );

export const sourceMapDiffers = (path: string, problem: string): WorkflowError =>
  WorkflowError.failed(
    "SOURCE_MAP_CHANGED",
    `${path}: ${problem}`,
    "add the original source again to restore it",
  );

/** `isOther`: another version of this program can read the statement. */
export const notAStatement = (problem: string, isOther = false): WorkflowError =>
  WorkflowError.failed(
    "NOT_AN_ATTESTATION",
    `unreadable statement: ${problem}`,
    isOther ? "verify it with the version that wrote it" : "give a file that attest wrote",
  );
