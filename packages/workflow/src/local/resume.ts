import { WorkflowError } from "../contract/error.ts";
import type {
  AnswerRequest,
  Controlled,
  Durability,
  InputRequest,
  ResumeRequest,
} from "../control/control.ts";
import type { Environment } from "../host/host.ts";
import { dataPath, type Root } from "../storage/paths.ts";
import { hasTaken } from "../thread/answered.ts";
import type { Status, ThreadRef } from "../thread/thread.ts";
import { ask, type ControlRequest } from "./connect.ts";
import { askWorker } from "./spawn.ts";
import { definedEnv } from "./start.ts";
import { breakOf, readThread } from "./threads.ts";

/** How a thread goes on: with which environment, which durability, and what answer to its question. */
export type ResumeOptions = {
  env: Environment;
  durability?: Durability;
  input?: InputRequest;
};

/**
 * Stops a running thread at its next yield. Until then it is seen as `running`.
 *
 * @throws WorkflowError `THREAD_ENDED`, `LOG_CORRUPT`, `NOT_RUNNING` when no live worker drives it.
 */
export async function pauseThread(root: Root, ref: ThreadRef): Promise<Controlled> {
  const { status } = await readThread(root, ref);
  checkOpen(root, ref, status);
  const reply = await ask<Controlled>(root, ref.hash, toThread("POST", ref, "pause"));
  if (reply.kind === "reply") return reply.value;
  throw notRunning(ref, status);
}

/**
 * Lets a paused thread go on, starts an interrupted one again from its committed steps, or answers a
 * waiting one. An answer with a `meta.requestId` that was taken before is answered as it was then.
 *
 * @throws WorkflowError `THREAD_ENDED`, `ALREADY_RUNNING`, `WAITING`, `NOT_WAITING`, `ANSWER_TOKEN`,
 * `ANSWER_LATE`, `ANSWER_INVALID`, `LOG_CORRUPT`.
 */
export async function resumeThread(
  root: Root,
  ref: ThreadRef,
  options: ResumeOptions,
): Promise<Controlled> {
  const request = resumeRequest(ref, options);
  // A live worker reads the log itself, and one is started only for a thread that can go on.
  const reply = await ask<Controlled>(root, ref.hash, request);
  if (reply.kind === "reply") return reply.value;
  const { status } = await readThread(root, ref);
  if (options.input && hasTaken(root, ref, options.input)) return { threadId: ref.threadId };
  checkOpen(root, ref, status);
  return askWorker(root, ref.hash, request);
}

function resumeRequest(ref: ThreadRef, { env, durability, input }: ResumeOptions): ControlRequest {
  const surroundings: ResumeRequest = {
    env: definedEnv(env),
    ...(durability ? { durability } : {}),
  };
  if (!input) return { ...toThread("POST", ref, "resume"), body: surroundings };
  const body: AnswerRequest = { ...surroundings, input };
  return { ...toThread("POST", ref, "input"), body };
}

/** A request about one thread. */
export const toThread = (
  method: ControlRequest["method"],
  { threadId }: ThreadRef,
  verb?: string,
): ControlRequest => ({ method, path: `/threads/${threadId}${verb ? `/${verb}` : ""}` });

/** @throws WorkflowError `THREAD_ENDED` or `LOG_CORRUPT` when nothing can be done to the thread. */
export function checkOpen(root: Root, ref: ThreadRef, status: Status): void {
  if (status === "completed" || status === "failed" || status === "killed") {
    throw new WorkflowError({
      code: "THREAD_ENDED",
      kind: "failed",
      message: `${ref.threadId} has ended (${status}), and an ended log is final`,
      hint: `take it up in a new thread: uncaged-workflow retry ${ref.threadId}, or fork`,
    });
  }
  if (status === "corrupt") throw corrupt(root, ref);
}

/** The error that a thread's log is broken, naming file and line. */
export function corrupt(root: Root, ref: ThreadRef): WorkflowError {
  const broken = breakOf(root, ref);
  const where = broken
    ? `${broken.path}:${broken.line}: ${broken.reason} (byte ${broken.offset})`
    : dataPath(root, ref.hash, ref.threadId);
  return new WorkflowError({
    code: "LOG_CORRUPT",
    kind: "failed",
    message: where,
    hint: "nothing was changed; fork the steps before that line: uncaged-workflow fork --at-step N",
  });
}

function notRunning({ threadId }: ThreadRef, status: Status): WorkflowError {
  return new WorkflowError({
    code: "NOT_RUNNING",
    kind: "failed",
    message: `${threadId} does not run: it is ${status}`,
    hint: "see what runs: uncaged-workflow ps",
  });
}
