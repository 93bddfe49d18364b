import { RunEventType } from "@uncaged/workflow-steps";
import type { EventRecord, Host, ThreadRef } from "@uncaged/workflow/host";
import type { Context } from "../routes/route.ts";
import { type Bytes, sseBytes, streamHeaders } from "../stream/sse.ts";
import type { Serializer } from "../stream/thread-feed.ts";
import { type Ending, endingOf, endOf, lastSeqOf } from "./run.ts";

const nothing: Bytes = new Uint8Array();
const endings: ReadonlySet<string> = new Set(["workflow_done", "workflow_failed"]);

/**
 * Streams a run's events after the event with the id `last`, up to the event that ends the run. A client that already
 * has the last event gets status 204.
 */
export async function followRun(
  { host, threadFeeds, connections }: Context,
  ref: ThreadRef,
  last: number | null,
): Promise<Response> {
  const endsAt = (await endOf(host, await host.row(ref)))?.seq ?? null;
  if (last !== null && endsAt !== null && last >= endsAt)
    return new Response(null, { status: 204 });
  // A number above the end comes from another run. A client with such a number gets only new events.
  const after = last === null ? 0 : Math.min(last, await lastSeqOf(host, ref));
  const serializer = runSerializer(host, ref, endsAt);
  const response = connections.send(() => threadFeeds.listen(ref, serializer, { after }));
  response.headers.set("Connection", "keep-alive");
  return response;
}

export const noStream = (): Response =>
  new Response("", {
    headers: { ...streamHeaders, Connection: "keep-alive" },
  });

export const seqIn = (text: string | undefined): number | null =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;

/**
 * Returns the serializer of a run's events, numbered by `seq`, as in section 7 of the documented API. Sends only
 * documented types, and data with the `stepID` and the documented keys of the payload. Sends the event that ends the
 * run once, when the thread's log has its end, and no later event.
 */
export function runSerializer(host: Host, ref: ThreadRef, endsAt: number | null): Serializer {
  let lastSeq = 0;
  let startedAt = 0;
  let token: object = {};
  const bytesOf = ({ type, stepID, payload, seq }: EventRecord): Bytes => {
    const isPast = endings.has(type) || seq >= (endsAt ?? Infinity);
    if (isPast || !Object.hasOwn(RunEventType, type)) return nothing;
    lastSeq = Math.max(lastSeq, seq);
    const data = {
      stepID,
      ...(type.startsWith("tool_") && { runID: ref.threadId, ...token }),
      ...(payload as object),
    };
    return sseBytes(type, data, seq);
  };
  return {
    name: "run",
    async message(item) {
      const { cursor } = item;
      if (item.kind === "start") {
        const { clientRunToken } = item.start.parameters.options;
        startedAt = item.start.timestamp;
        if (typeof clientRunToken === "string") token = { clientRunToken };
      }
      if (item.kind === "event") return { cursor, bytes: bytesOf(item.event), seq: item.event.seq };
      if (item.kind !== "end") return { cursor, bytes: nothing };
      const ending = await endingOf(host, ref, item.end, startedAt);
      const seq = Math.max(ending.seq, lastSeq + 1);
      return { cursor, bytes: endingBytes({ ...ending, seq }), last: true, seq };
    },
    status: () => null,
    async over(state) {
      if (state === "removed" || state.status !== "corrupt") return null;
      const error = "the thread's log is corrupt";
      const payload = { error, failed_step_id: null, duration_ms: null };
      const seq = (await lastSeqOf(host, ref)) + 1;
      return endingBytes({ type: "workflow_failed", seq, payload });
    },
  };
}

const endingBytes = ({ type, seq, payload }: Ending): Bytes =>
  sseBytes(type, { stepID: null, ...(payload as object) }, seq);
