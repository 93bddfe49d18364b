import { RunEventType } from "@uncaged/workflow-steps";
import type { EventRecord, Host, ThreadRef } from "@uncaged/workflow/host";
import { type Message, type Messages, messageOf } from "../stream/streams.ts";
import { type Ending, endingOf, endOf, lastSeqOf } from "./run.ts";

const endings: ReadonlySet<string> = new Set(["workflow_done", "workflow_failed"]);

/**
 * Streams a run's events after the event with the id `last`, up to the event that ends the run. Returns null for a
 * client that already has the last event.
 */
export async function followRun(
  { host }: { host: Host },
  ref: ThreadRef,
  last: number | null,
  signal: AbortSignal,
): Promise<Messages | null> {
  const endsAt = (await endOf(host, await host.row(ref)))?.seq ?? Infinity;
  if (last !== null && endsAt !== Infinity && last >= endsAt) return null;
  // A number above the end comes from another run. A client with such a number gets only new events.
  const after = last === null ? 0 : Math.min(last, await lastSeqOf(host, ref));
  return runMessages(host, ref, { after, endsAt }, signal);
}

export const seqIn = (text: string | undefined): number | null =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;

/**
 * Yields the events of a run, numbered by `seq`, as in section 7 of the documented API. Skips events up to the number
 * `after`. Sends the event that ends the run once, when the thread's log has its end, and no later event.
 */
async function* runMessages(
  host: Host,
  ref: ThreadRef,
  { after, endsAt }: { after: number; endsAt: number },
  signal: AbortSignal,
): Messages {
  let lastSeq = 0;
  let sentAny = false;
  let startedAt = 0;
  let token: object = {};
  for await (const item of host.observe(ref, undefined, { signal })) {
    if (item.kind === "start") {
      const { clientRunToken } = item.start.parameters.options;
      startedAt = item.start.timestamp;
      if (typeof clientRunToken === "string") token = { clientRunToken };
    } else if (item.kind === "event") {
      const { seq } = item.event;
      const message = seq < endsAt ? messageFor(item.event, ref, token) : null;
      if (message === null) continue;
      lastSeq = Math.max(lastSeq, seq);
      // After the first sent message, all later messages are sent.
      if (!sentAny && seq <= after) continue;
      sentAny = true;
      yield message;
    } else if (item.kind === "end") {
      const ending = await endingOf(host, ref, item.end, startedAt);
      const seq = Math.max(ending.seq, lastSeq + 1);
      if (sentAny || seq > after) yield endingMessage({ ...ending, seq });
    } else if (item.kind === "status" && item.state.status === "corrupt") {
      const error = "the thread's log is corrupt";
      const payload = { error, failed_step_id: null, duration_ms: null };
      const seq = (await lastSeqOf(host, ref)) + 1;
      yield endingMessage({ type: "workflow_failed", seq, payload });
    }
  }
}

/**
 * Returns the message for an event, with the `stepID` and the documented keys of the payload; null for undocumented
 * types, and for the event that ends the run.
 */
export function messageFor(
  { type, stepID, payload, seq }: EventRecord,
  { threadId: runID }: ThreadRef,
  token: object,
): Message | null {
  if (endings.has(type) || !Object.hasOwn(RunEventType, type)) return null;
  const run = type.startsWith("tool_") && { runID, ...token };
  return messageOf(type, { stepID, ...run, ...(payload as object) }, seq);
}

const endingMessage = ({ type, seq, payload }: Ending): Message =>
  messageOf(type, { stepID: null, ...(payload as object) }, seq);
