import { WorkflowError } from "../contract/error.ts";
import { type Step, WAIT, type WaitMeta } from "../contract/contract.ts";
import { sleepsUntil } from "../contract/wait.ts";
import { type Mask, maskOf } from "../contract/mask.ts";
import type { Surroundings } from "../control/control.ts";
import { isOver, refusedNote, refusedTag, sleeping } from "../engine/answer.ts";
import type { InfoLog } from "./info.ts";
import { linesOf, type Source } from "./info-batch.ts";
import type { ThreadLog } from "../disk/log.ts";
import { payloadJson } from "../record/payload.ts";
import type { Root } from "../disk/paths.ts";
import { system } from "../system/system.ts";
import { infoLogOf } from "./create.ts";

/** Why a log is not continued, where that has nothing to do with the disk. */
export const refusals: ReadonlySet<string> = new Set([
  "THREAD_NOT_FOUND",
  "THREAD_ENDED",
  "LOG_CORRUPT",
  "THREAD_MOVED",
]);

/** The error that a request is not for a thread in this state. */
export const refuse = (code: string, threadId: string, what: string): WorkflowError =>
  WorkflowError.failed(
    code,
    `${threadId} ${what}`,
    `see its state: uncaged-workflow thread ${threadId}`,
  );

/** Throws that a thread has ended: its end was in the log, and is only shown now. */
export function hadEnded(threadId: string): never {
  throw refuse("THREAD_ENDED", threadId, "has ended");
}

/** The error that a thread waits: it sleeps, or an answer is needed. */
export function waiting(threadId: string, last: Step | null): WorkflowError {
  if (sleepsUntil(last) !== null) return sleeping(threadId, last?.meta as WaitMeta);
  const hint = `answer it: uncaged-workflow resume ${threadId} --input TEXT`;
  return WorkflowError.failed("WAITING", `${threadId} waits for an answer`, hint);
}

/** The error that a thread can't be resumed, by its log: it waits, for longer than until now. */
export function stillWaiting({ start, steps }: ThreadLog): WorkflowError | null {
  const last = steps.at(-1);
  if (last?.role !== WAIT || isOver(last.meta as WaitMeta, system.clock.now())) return null;
  return waiting(start.threadId, last);
}

/** The error that a thread can't be answered, by its log: it does not wait. Its debug log has it too. */
export function notWaiting(
  root: Root,
  { start, steps }: ThreadLog,
  { env, secrets }: Surroundings,
): WorkflowError | null {
  if (steps.at(-1)?.role === WAIT) return null;
  const refused = refuse("NOT_WAITING", start.threadId, "waits for no answer");
  const info = infoLogOf(root, start, maskOf(env, secrets));
  recordRefusal(info, null, refused.message, steps.length + 1);
  info.close();
  return refused;
}

/** The error that a worker is about to exit: another one takes the request. */
export const workerClosing = (): WorkflowError =>
  WorkflowError.failed("WORKER_CLOSING", "the worker is closing", "try again");

const rejection = (reason: string, stepID: string | null, step: number) => {
  const source: Source = { type: "pause_rejected", stepID, step };
  return { tag: "V5RJ7N2C", ...source, payload: { reason } };
};

/** Records that an answer was refused, before the step with this number. */
export const recordRefusal = (
  info: InfoLog,
  stepID: string | null,
  reason: string,
  step: number,
): void => info.event(rejection(reason, stepID, step));

/**
 * What a debug log has of an answer that was refused, as text, for a host that keeps the log elsewhere. Without `seq`, the
 * number that the event has, the note alone.
 */
export function refusalLines(
  { reason, stepID, step }: { reason: string; stepID: string | null; step: number },
  { seq, timestamp, mask }: { seq: number | null; timestamp: number; mask: Mask },
): string {
  const { payload, ...event } = rejection(reason, stepID, step);
  const note = { kind: "line", tag: refusedTag, timestamp, content: refusedNote(reason) } as const;
  const json = payloadJson(payload, mask, () => null);
  const lines = linesOf(note, mask, () => 0);
  if (seq === null) return lines.join("");
  return [...lines, ...linesOf({ kind: "event", timestamp, json, ...event }, mask, () => seq)].join(
    "",
  );
}
