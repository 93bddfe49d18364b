import { attemptTime } from "../contract/attempt.ts";
import { type Mask, noMask } from "../contract/mask.ts";
import { type Keep, payloadJson } from "../record/payload.ts";
import type { Claim, Cut } from "../store/store.ts";
import { system } from "../system/system.ts";
import { InfoBatch, linesOf, type Source } from "./info-batch.ts";

/** The target of a debug log's lines, with its last `seq`. */
export type EventSink = Pick<Claim, "event" | "keepValue" | "lastSeq">;
/** The part of the batch to write, and whether to close the log. */
type Writing = { whole: boolean; last?: boolean };
type NewEvent = Source & { tag: string; payload: unknown };

/** The tag of events that workflows publish, and of their attempts. */
export const eventTag = "QK4DX8TM";
const flushAfterMs = 50;
const flushAtLength = 64 * 1024;
// Event types that are written immediately, because a step that a kill interrupts does not record the cost of its
// calls.
const atOnce: ReadonlySet<string> = new Set(["llm_start", "llm_usage"]);

/**
 * Writes a thread's debug log in batches, without blocking a step. Lines that can't be written are dropped. Streamed
 * text becomes a few lines per second; the cost of a model call is written at once. Never throws.
 */
export class InfoLog {
  readonly #sink: EventSink;
  readonly #mask: Mask;
  readonly #batch: InfoBatch;
  readonly #keep: Keep;
  #seq: number | null = null;
  #cancel: (() => void) | null = null;
  #closed = false;
  #nextStep: () => number = () => 1;

  /** `mask` removes secrets from written lines. */
  constructor(sink: EventSink, mask: Mask = noMask) {
    this.#sink = sink;
    this.#mask = mask;
    this.#batch = new InfoBatch(mask, (id, payload) => ({
      kind: "event",
      tag: eventTag,
      timestamp: attemptTime(id) ?? system.clock.now(),
      type: "attempt_start",
      stepID: null,
      step: this.#nextStep(),
      attempt: id,
      json: payloadJson(payload, this.#mask, this.#keep),
    }));
    this.#keep = (json) => sink.keepValue(json);
  }

  /** Adds a line. `tag` identifies the call site: 8 digits of Crockford Base32. */
  log(tag: string, content: string): void {
    if (this.#closed) return;
    try {
      this.#batch.add({ kind: "line", tag, timestamp: system.clock.now(), content });
      this.#plan();
    } catch {
      // As in `#write`.
    }
  }

  /** Logs bytes that were cut off a log after its writer crashed. */
  noteCut({ bytes, keptIn }: Cut): void {
    this.log("T2RV8MJ6", `cut a torn tail of ${bytes} bytes, kept in ${keptIn}`);
  }

  /** Adds an event with the thread's next number. */
  event({ tag, payload, ...source }: NewEvent): void {
    if (this.#closed) return;
    const timestamp = system.clock.now();
    const { type } = source;
    try {
      const delta = deltaOf(type, payload);
      if (delta !== null) this.#batch.addText(tag, source, timestamp, delta);
      else {
        const json = payloadJson(payload, this.#mask, this.#keep);
        this.#batch.add({ kind: "event", tag, timestamp, ...source, json });
      }
      if (atOnce.has(type)) this.#write({ whole: false });
      else this.#plan();
    } catch {
      // As in `#write`.
    }
  }

  /** Adds an event before all other entries. Steps do not wait for the event. */
  begin({ tag, payload, ...source }: NewEvent): void {
    const timestamp = system.clock.now();
    this.#batch.addFirst(() => {
      const json = payloadJson(payload, this.#mask, this.#keep);
      return { kind: "event", tag, timestamp, ...source, json };
    });
    this.#plan();
  }

  /** Adds an attempt's `attempt_start`, which is written with the attempt's next entry. */
  start(id: string, payload: unknown, nextStep: () => number): void {
    if (this.#closed) return;
    this.#nextStep = nextStep;
    try {
      this.#batch.addStart(id, payload);
      this.#plan();
    } catch {
      // As in `#write`.
    }
  }

  /** Withdraws the start of an attempt. Returns false when an entry of the attempt has already been written. */
  takeBack(id: string): boolean {
    return this.#batch.takeBack(id);
  }

  /** Writes the batch if it holds events, so that readers see them before the next step. */
  flushEvents(): void {
    if (this.#batch.hasEvents) this.flush();
  }

  flush(): void {
    this.#write({ whole: true });
  }

  /** Writes the batch and drops later lines: the log may be deleted after the close. */
  close(): void {
    this.#write({ whole: true, last: true });
    this.#cancel?.();
    this.#closed = true;
  }

  #plan(): void {
    if (this.#batch.size >= flushAtLength) this.#write({ whole: false });
    else this.#cancel ??= system.clock.after(flushAfterMs, () => this.#write({ whole: false }));
  }

  #write({ whole, last = false }: Writing): void {
    this.#cancel?.();
    this.#cancel = null;
    const next = () => (this.#seq = (this.#seq ?? this.#sink.lastSeq) + 1);
    try {
      const lines = this.#batch
        .take({ whole, now: last ? undefined : system.clock.now() })
        .flatMap((entry) => linesOf(entry, this.#mask, next));
      if (!this.#batch.isEmpty) this.#plan();
      if (lines.length > 0) this.#sink.event(lines);
    } catch {
      // A failed debug log must not stop the thread.
    }
  }
}

function deltaOf(type: string, payload: unknown): string | null {
  if (type !== "llm_token" && type !== "llm_thinking") return null;
  if (typeof payload !== "object" || payload === null) return null;
  for (const name in payload) if (name !== "delta") return null;
  const { delta } = payload as { delta?: unknown };
  return typeof delta === "string" ? delta : null;
}
