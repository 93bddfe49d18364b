import type { EventRecord, Host, ThreadRef } from "@uncaged/workflow/host";
import type { Context } from "../routes/route.ts";
import { type Bytes, type SseMessage, sseBytes } from "../stream/sse.ts";
import type { LogItem, Serializer } from "../stream/thread-feed.ts";
import { type Ending, endingOf, endOf, lastSeqOf } from "./run.ts";

const nothing: Bytes = new Uint8Array();
const endings: ReadonlySet<string> = new Set(["workflow_done", "workflow_failed"]);
const internal: ReadonlySet<string> = new Set(["attempt_start", "attempt_end", "worker_start"]);

/**
 * The stream of a run's events after the one with the id `last`. It ends with the event that ends the run;
 * a client that has that one is answered with the status 204.
 */
export async function followRun(
  { host, threadFeeds, connections }: Context,
  ref: ThreadRef,
  last: number | null,
): Promise<Response> {
  const endsAt = (await endOf(host, await host.row(ref)))?.seq ?? null;
  if (last !== null && endsAt !== null && last >= endsAt)
    return new Response(null, { status: 204 });
  // A number above the end is of another run, or another time: such a client is sent what comes.
  const after = last === null ? 0 : Math.min(last, await lastSeqOf(host, ref));
  const serializer = new RunSerializer(host, ref, endsAt);
  const response = connections.send(() => threadFeeds.listen(ref, serializer, { after }));
  response.headers.set("Connection", "keep-alive");
  return response;
}

export const noStream = (): Response =>
  new Response("", {
    headers: {
      "Content-Type": "text/event-stream",
      "Cache-Control": "no-cache",
      Connection: "keep-alive",
    },
  });

export const seqIn = (text: string | undefined): number | null =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;

/**
 * A run's events, numbered by `seq`, as section 7 of the documented API has them, each with the `attempt`
 * that it belongs to and that attempt's `path`. The event that ends the run is sent once, when the thread's
 * log has its end, and nothing after it.
 */
export class RunSerializer implements Serializer {
  readonly name = "run";
  readonly #host: Host;
  readonly #ref: ThreadRef;
  /** The number of the event that ends the run; null where it had not ended when the stream began. */
  readonly #endsAt: number | null;
  readonly #paths = new Map<string, unknown>();
  #lastSeq = 0;
  #startedAt = 0;
  #token: object = {};

  constructor(host: Host, ref: ThreadRef, endsAt: number | null) {
    this.#host = host;
    this.#ref = ref;
    this.#endsAt = endsAt;
  }

  async message(item: LogItem): Promise<SseMessage> {
    const { cursor } = item;
    if (item.kind === "start") {
      const { clientRunToken } = item.start.parameters.options;
      this.#startedAt = item.start.timestamp;
      if (typeof clientRunToken === "string") this.#token = { clientRunToken };
    }
    if (item.kind === "event") return { cursor, ...this.#event(item.event) };
    if (item.kind !== "end") return { cursor, bytes: nothing };
    const ending = await endingOf(this.#host, this.#ref, item.end, this.#startedAt);
    const seq = Math.max(ending.seq, this.#lastSeq + 1);
    return { cursor, bytes: endingBytes({ ...ending, seq }), last: true, seq };
  }

  status = (): null => null;

  async over(state: { status: string } | "removed"): Promise<Bytes | null> {
    if (state === "removed" || state.status !== "corrupt") return null;
    const error = "the thread's log is corrupt";
    const payload = { error, failed_step_id: null, duration_ms: null };
    const seq = (await lastSeqOf(this.#host, this.#ref)) + 1;
    return endingBytes({ type: "workflow_failed", seq, payload });
  }

  #event({ type, stepID, payload, seq, attempt }: EventRecord): { bytes: Bytes; seq?: number } {
    if (type === "attempt_start" && attempt !== undefined) {
      this.#paths.set(attempt, (payload as { path?: unknown }).path ?? []);
    }
    const isPast = endings.has(type) || seq >= (this.#endsAt ?? Infinity);
    if (isPast || internal.has(type)) return { bytes: nothing };
    this.#lastSeq = Math.max(this.#lastSeq, seq);
    const path = attempt === undefined ? undefined : this.#paths.get(attempt);
    const data = {
      stepID,
      ...(type.startsWith("tool_") && { runID: this.#ref.threadId, ...this.#token }),
      ...(payload as object),
      // Left out where they are undefined.
      attempt,
      path,
    };
    return { bytes: sseBytes(type, data, seq), seq };
  }
}

const endingBytes = ({ type, seq, payload }: Ending): Bytes =>
  sseBytes(type, { stepID: null, ...(payload as object) }, seq);
