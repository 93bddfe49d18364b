import {
  type InfoRecord,
  type LogItem,
  readRow,
  type Root,
  type ThreadRef,
} from "@uncaged/workflow/host";
import type { Context } from "../routes/route.ts";
import type { SseMessage, MakeSerializer, Serializer } from "../stream/sse.ts";
import { type Ended, endedOf, type Ending, endingOf, endingSeqOf, lastSeqOf } from "./run.ts";

const encoder = new TextEncoder();
const nothing = new Uint8Array();
const endings: ReadonlySet<string> = new Set(["workflow_done", "workflow_failed"]);

/**
 * The serializer of a run's stream: its events, numbered by `seq`, as section 7 of the documented API has
 * them. How it ended is told when its thread's log says so, once, and nothing after it.
 */
export const runSerializer =
  (ended: Ended | null): MakeSerializer =>
  (root, ref) =>
    new RunSerializer(root, ref, ended);

class RunSerializer implements Serializer {
  readonly name = "run";
  readonly #root: Root;
  readonly #ref: ThreadRef;
  /** Behind this number nothing is told: null while that is not known. */
  readonly #endsAt: number | null;
  #lastSeq = 0;
  #startedAt = 0;
  #token: string | undefined;

  constructor(root: Root, ref: ThreadRef, ended: Ended | null) {
    this.#root = root;
    this.#ref = ref;
    this.#endsAt = ended && endingSeqOf(root, ref, ended);
  }

  message(item: LogItem): SseMessage {
    const { position } = item;
    switch (item.kind) {
      case "start": {
        const { clientRunToken } = item.start.parameters.options;
        this.#startedAt = item.start.timestamp;
        this.#token = typeof clientRunToken === "string" ? clientRunToken : undefined;
        break;
      }
      case "event": {
        const { type = "", seq = 0 } = item.event;
        if (endings.has(type) || seq >= (this.#endsAt ?? Infinity)) break;
        this.#lastSeq = Math.max(this.#lastSeq, seq);
        return {
          position,
          bytes: eventBytes(type, this.#dataOf(item.event), seq),
          last: false,
          seq,
        };
      }
      case "step":
        break;
      case "end": {
        const ending = endingOf(this.#root, this.#ref, item.end, this.#startedAt);
        const seq = Math.max(ending.seq, this.#lastSeq + 1);
        return { position, bytes: endingBytes({ ...ending, seq }), last: true, seq };
      }
    }
    return { position, bytes: nothing, last: false };
  }

  removed = (): null => null;
  ended = (): null => null;
  status = (): null => null;

  corrupt(): Uint8Array<ArrayBuffer> {
    const error = "the thread's log is corrupt";
    const payload = { error, failed_step_id: null, duration_ms: null };
    const seq = lastSeqOf(this.#root, this.#ref) + 1;
    return endingBytes({ type: "workflow_failed", seq, payload });
  }

  #dataOf({ type = "", stepID = null, payload }: InfoRecord): object {
    const token = this.#token === undefined ? {} : { clientRunToken: this.#token };
    const whose = type.startsWith("tool_") ? { runID: this.#ref.threadId, ...token } : {};
    return { stepID, ...whose, ...(payload as object) };
  }
}

const endingBytes = ({ type, seq, payload }: Ending): Uint8Array<ArrayBuffer> =>
  eventBytes(type, { stepID: null, ...(payload as object) }, seq);

// A type is a bundle's own text: with a line end in it, it could tell of events that never were.
const eventBytes = (type: string, data: object, seq: number): Uint8Array<ArrayBuffer> =>
  encoder.encode(
    `event: ${type.replace(/[\r\n]+/g, " ")}\ndata: ${JSON.stringify(data)}\nid: ${seq}\n\n`,
  );

/**
 * The stream of a run's events behind the one with the id `last`. It ends behind the event that ends the
 * run; whoever comes back with that one is told by the status 204 that there is nothing more.
 *
 * @throws WorkflowError `TOO_MANY_STREAMS`.
 */
export async function followRun(
  context: Context,
  ref: ThreadRef,
  last: number | null,
): Promise<Response> {
  const { root, threadFeeds, streams } = context;
  const ended = endedOf(await readRow(root, ref));
  const isAll = last !== null && ended && last >= endingSeqOf(root, ref, ended);
  if (isAll) return new Response(null, { status: 204 });
  streams.checkRoom();
  // What is behind the end is of another run, or another time: such a reader has what there is.
  const after = last === null ? 0 : Math.min(last, lastSeqOf(root, ref));
  const response = streams.send(
    threadFeeds.listen(ref, undefined, { make: runSerializer(ended), after }),
  );
  response.headers.set("Connection", "keep-alive");
  return response;
}

/** The stream of a run that there is not: it ends at once. */
export const noStream = (): Response =>
  new Response("", {
    headers: {
      "Content-Type": "text/event-stream",
      "Cache-Control": "no-cache",
      Connection: "keep-alive",
    },
  });

/** The number that a `Last-Event-ID` is; null for none, and for what never was one. */
export const seqIn = (text: string | undefined): number | null =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
