import type { InfoRecord, LogItem, Root, ThreadRef } from "@uncaged/workflow/host";
import type { Frame } from "../feed/frame.ts";
import type { Speak, Voice } from "../feed/voice.ts";
import { type Ended, type Ending, endingOf, endingSeqOf } from "./ending.ts";
import { lastSeqOf } from "./run.ts";

const encoder = new TextEncoder();
const nothing = new Uint8Array();
const endings: ReadonlySet<string> = new Set(["workflow_done", "workflow_failed"]);

/**
 * The voice of a run's stream: its events, numbered by `seq`, as section 7 of the documented API has
 * them. How it ended is told when its thread's log says so, once, and nothing after it.
 */
export const runVoice =
  (ended: Ended | null): Speak =>
  (root, ref) =>
    new RunVoice(root, ref, ended);

class RunVoice implements Voice {
  readonly name = "run";
  readonly #root: Root;
  readonly #ref: ThreadRef;
  /** Behind this number nothing is told: null while that is not known. */
  readonly #endsAt: number | null;
  #told = 0;
  #startedAt = 0;
  #token: string | undefined;

  constructor(root: Root, ref: ThreadRef, ended: Ended | null) {
    this.#root = root;
    this.#ref = ref;
    this.#endsAt = ended && endingSeqOf(root, ref, ended);
  }

  frame(item: LogItem): Frame {
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
        this.#told = Math.max(this.#told, seq);
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
        const seq = Math.max(ending.seq, this.#told + 1);
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
