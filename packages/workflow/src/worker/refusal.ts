import { type Step, WAIT, type WaitMeta } from "../contract/contract.ts";
import type { WorkflowError } from "../contract/error.ts";
import { type Mask, maskOf } from "../contract/mask.ts";
import { sleepsUntil } from "../contract/wait.ts";
import type { Surroundings } from "../control/control.ts";
import { isOver, refusedNote, refusedTag, sleeping } from "../engine/answer.ts";
import { payloadJson } from "../record/payload.ts";
import { answerHint } from "../record/thread.ts";
import type { Claim, ThreadInfo } from "../store/store.ts";
import { system } from "../system/system.ts";
import { otherBundle } from "./create.ts";
import { InfoLog } from "./info.ts";
import { linesOf, type Source } from "./info-batch.ts";
import { notWaiting } from "../engine/errors.ts";
import { alreadyRunning, notRunning, waitsForAnswer } from "./errors.ts";
import { endedError, movedError, movesNotRunning, notFound } from "../record/errors.ts";
import { hashCollision } from "../registry/errors.ts";
import { threadOpen } from "../host/errors.ts";

/** Returns the error for a waiting thread: it sleeps or needs an answer. */
export function waiting(threadId: string, last: Step | null): WorkflowError {
  if (sleepsUntil(last) !== null) return sleeping(threadId, last?.meta as WaitMeta);
  return waitsForAnswer(threadId, answerHint(threadId, last));
}

/** The errors of every host for requests that the state of a thread or bundle does not allow. */
export const refusals = {
  ended: endedError,
  moves: movesNotRunning,
  notFound,
  notWaiting,
  waiting,
  hashCollision,
  otherBundle,
  alreadyRunning,
  notRunning,
  threadOpen,
} as const;

/** Returns the error for resuming a thread that still waits, by its steps; null if it does not wait. */
export function stillWaiting(threadId: string, steps: readonly Step[]): WorkflowError | null {
  const last = steps.at(-1);
  if (last?.role !== WAIT || isOver(last.meta as WaitMeta, system.clock.now())) return null;
  return waiting(threadId, last);
}

/**
 * Checks that a thread without a worker can be paused: it is already paused, or wakes at a given time.
 * @throws WorkflowError `THREAD_ENDED`, `THREAD_MOVED`, `NOT_RUNNING`
 */
export function checkPausable({ threadId, state, paused, movedTo }: ThreadInfo): void {
  if (movedTo !== null) throw movedError(threadId, movedTo);
  if (state.kind === "ended") throw endedError(threadId, "ended");
  if (paused || (state.kind === "waiting" && state.dueAt !== null)) return;
  const stands = state.kind === "waiting" ? "waiting" : "interrupted";
  throw notRunning(threadId, stands);
}

/** Returns the error for answering a thread that does not wait, and logs it in the thread's debug log. */
export function noteRefusal(claim: Claim, { env, secrets }: Surroundings): WorkflowError {
  const { threadId } = claim.ref;
  const refused = notWaiting(threadId);
  const info = new InfoLog(claim, maskOf(env, secrets));
  recordRefusal(info, null, refused.message, claim.steps.length + 1);
  info.close();
  return refused;
}

const rejection = (reason: string, stepID: string | null, step: number) => {
  const source: Source = { type: "pause_rejected", stepID, step };
  return { tag: "V5RJ7N2C", ...source, payload: { reason } };
};

/** Records a refused answer, before the step with this number. */
export const recordRefusal = (
  info: InfoLog,
  stepID: string | null,
  reason: string,
  step: number,
): void => info.event(rejection(reason, stepID, step));

/**
 * Returns the debug log lines of a refused answer as text, for a host that stores the log elsewhere. Without `seq`, the
 * event's number, returns only the note.
 */
export function refusalLines(
  { reason, stepID, step }: { reason: string; stepID: string | null; step: number },
  { seq, timestamp, mask }: { seq: number | null; timestamp: number; mask: Mask },
): string {
  const { payload, ...event } = rejection(reason, stepID, step);
  const note = { kind: "line", tag: refusedTag, timestamp, content: refusedNote(reason) } as const;
  const json = payloadJson(payload, mask, () => null);
  const entry = { kind: "event", timestamp, json, ...event } as const;
  const lines = [
    ...linesOf(note, mask, () => 0),
    ...(seq === null ? [] : linesOf(entry, mask, () => seq)),
  ];
  return `${lines.join("\n")}\n`;
}
