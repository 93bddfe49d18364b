import { attemptTime } from "../contract/attempt-id.ts";
import { type Mask, noMask } from "../contract/mask.ts";
import { InfoBatch, type Source } from "./gathered.ts";
import { InfoFile } from "./info-file.ts";
import { linesOf } from "./info-line.ts";
import { type Keep, payloadJson } from "./payload.ts";
import { ValuesFile } from "./values.ts";

/**
 * A line of the debug log. An event has `type`, `stepID`, `payload` and `seq` too; `attempt`, the attempt that
 * it belongs to; and `step`, the number, from 1, of the next step to be committed.
 */
export type InfoRecord = {
  tag: string;
  content: string;
  timestamp: number;
  type?: string;
  stepID?: string | null;
  payload?: unknown;
  seq?: number;
  step?: number;
  attempt?: string;
};

/** An event to be recorded. */
export type NewEvent = Source & { tag: string; payload: unknown };

const flushAfterMs = 50;
const flushAtLength = 64 * 1024;
// What a call has cost until its worker is killed: no step will tell it.
const atOnce: ReadonlySet<string> = new Set(["llm_start", "llm_usage"]);

/**
 * The writer of a thread's debug log, `.info.jsonl`. Lines are written in batches, not
 * synced, and never in the way of a step: what can't be written, or would make the log longer than
 * 256 MiB, is dropped. What a model streams is joined to a few lines a second; what a model call spends
 * is written at once. It never throws.
 */
export class InfoLog {
  readonly #file: InfoFile;
  readonly #mask: Mask;
  readonly #batch: InfoBatch;
  readonly #keep: Keep;
  #seq: number | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #closed = false;

  /** `mask` takes secrets out of what is written; what is cut goes to `valuesPath`, if given, in full. */
  constructor(path: string, mask: Mask = noMask, valuesPath: string | null = null) {
    this.#file = new InfoFile(path);
    this.#mask = mask;
    this.#batch = new InfoBatch(mask);
    const values = valuesPath === null ? null : new ValuesFile(valuesPath);
    this.#keep = (json) => values?.keep(json) ?? null;
  }

  /** Adds a line. `tag` is the call site's own: 8 digits of Crockford Base32. */
  log(tag: string, content: string): void {
    if (this.#closed) return;
    this.#batch.add({ kind: "line", tag, timestamp: Date.now(), content });
    this.#plan();
  }

  /** Adds an event; its number is one more than that of the thread's last. */
  event({ tag, payload, ...source }: NewEvent): void {
    if (this.#closed) return;
    const timestamp = Date.now();
    const { type } = source;
    const delta = deltaOf(type, payload);
    if (delta !== null) this.#batch.addText(tag, source, timestamp, delta);
    else {
      const json = payloadJson(payload, this.#mask, this.#keep);
      this.#batch.add({ kind: "event", tag, timestamp, ...source, json });
    }
    if (atOnce.has(type)) this.#write({ whole: false });
    else this.#plan();
  }

  /** Adds the `attempt_start` of an attempt, which is written no sooner than anything else of it is. */
  start(id: string, event: () => NewEvent): void {
    if (this.#closed) return;
    this.#batch.addStart(id, () => {
      const { payload, ...source } = event();
      const json = payloadJson(payload, this.#mask, this.#keep);
      return { kind: "event", timestamp: attemptTime(id) ?? Date.now(), ...source, json };
    });
    this.#timer ??= setTimeout(() => this.#write({ whole: false }), flushAfterMs);
  }

  /** Takes the start of an attempt back; false when it, or more of the attempt, is recorded already. */
  takeBack(id: string): boolean {
    return this.#batch.takeBack(id);
  }

  /** Writes the batch when it holds events: who reads the next step then finds them before it. */
  flushEvents(): void {
    if (this.#batch.hasEvents) this.flush();
  }

  /** Writes the batch. */
  flush(): void {
    this.#write({ whole: true });
  }

  /** Writes the batch. What comes later is dropped: the log may be deleted by then. */
  close(): void {
    this.#write({ whole: true, last: true });
    if (this.#timer) clearTimeout(this.#timer);
    this.#closed = true;
  }

  #plan(): void {
    if (this.#batch.size >= flushAtLength) this.#write({ whole: false });
    else this.#timer ??= setTimeout(() => this.#write({ whole: false }), flushAfterMs);
  }

  #write({ whole, last = false }: { whole: boolean; last?: boolean }): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const next = () => (this.#seq = (this.#seq ?? this.#file.lastSeq()) + 1);
    const lines = this.#batch
      .take({ whole, now: last ? undefined : Date.now() })
      .flatMap((entry) => linesOf(entry, this.#mask, next));
    if (!this.#batch.isEmpty) this.#plan();
    if (lines.length === 0) return;
    try {
      this.#file.append(lines.join(""));
    } catch {
      // A debug log that can't be written must not stop the thread that it is about.
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
