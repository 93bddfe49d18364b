import { attemptTime } from "../contract/attempt-id.ts";
import type { Mask } from "../contract/mask.ts";

/** An entry of the debug log: a line, an event with its payload's JSON, streamed text. */
export type Entry = { tag: string; timestamp: number } & (
  | { kind: "line"; content: string }
  | ({ kind: "event"; json: string } & Source)
  | ({ kind: "text"; text: string } & Source)
);

/** Where an event comes from. `step` is the number of the next step to be committed, from 1. */
export type Source = { type: string; stepID: string | null; step?: number; attempt?: string };

type TextEntry = Extract<Entry, { kind: "text" }>;
type EventEntry = Extract<Entry, { kind: "event" }>;
type Stream = { source: Source; tag: string; entry: TextEntry | null; held: string };

const longestEntry = 16 * 1024;
/** How long an attempt may go on before its start is written though nothing else of it is. */
const quietMs = 50;

/**
 * The lines of a debug log that are not written yet, in their order. The text that an attempt streams with
 * no event in between is one entry; only texts that several attempts stream concurrently lose their order
 * among each other. No entry ends within a secret: what may be the start of one is held back until
 * the rest is there, or the stream has ended.
 *
 * The start of an attempt waits until the attempt publishes something, or has gone on for 50 ms: one that
 * is committed before stands in the thread's log alone.
 */
export class InfoBatch {
  readonly #mask: Mask;
  readonly #streams = new Map<string | null, Stream>();
  readonly #starts = new Map<string, () => EventEntry>();
  #entries: Entry[] = [];

  /** About how many characters are in the batch. */
  size = 0;
  /** Whether it holds an event that belongs before the next step. */
  hasEvents = false;

  constructor(mask: Mask) {
    this.#mask = mask;
  }

  /** Whether nothing is in it, the starts of attempts aside, or with them. */
  get isEmpty(): boolean {
    return this.#entries.length === 0 && this.#starts.size === 0;
  }

  add(entry: Exclude<Entry, TextEntry>): void {
    if (entry.kind === "event") {
      this.#release(entry.attempt);
      this.#end(sourceKey(entry));
    }
    this.#cutAll();
    this.#push(entry, entry.kind === "event" ? entry.json.length : entry.content.length);
  }

  /** Adds the start of an attempt. Most are never written, so the entry is made when one is. */
  addStart(id: string, entry: () => EventEntry): void {
    this.#starts.set(id, entry);
  }

  /** Takes the start of an attempt back, if nothing of that attempt was added since. */
  takeBack(id: string): boolean {
    return this.#starts.delete(id);
  }

  /** Adds text that a stream brings. */
  addText(tag: string, source: Source, timestamp: number, text: string): void {
    this.#release(source.attempt);
    const stream = this.#streamOf(tag, source);
    if (!stream.entry) {
      stream.entry = { kind: "text", tag, timestamp, ...source, text: stream.held };
      stream.held = "";
      this.#push(stream.entry, 100);
    }
    stream.entry.text += text;
    this.size += text.length;
    if (stream.entry.text.length >= longestEntry) this.#cut(stream);
  }

  /**
   * Takes the entries. `whole`: also what is held back, as every stream is at its end. `now` is in
   * milliseconds since the epoch; without it, the starts of all attempts are taken too.
   */
  take({ whole, now }: { whole: boolean; now?: number }): Entry[] {
    if (whole) for (const key of this.#streams.keys()) this.#end(key);
    else this.#cutAll();
    for (const id of this.#starts.keys()) {
      if (now === undefined || now - (attemptTime(id) ?? 0) >= quietMs) this.#release(id);
    }
    const entries = this.#entries;
    this.#entries = [];
    this.size = 0;
    this.hasEvents = this.#streams.size > 0;
    return entries;
  }

  #release(id: string | undefined): void {
    const start = id === undefined ? undefined : this.#starts.get(id);
    if (id === undefined || start === undefined) return;
    this.#starts.delete(id);
    const entry = start();
    this.#push(entry, entry.json.length);
  }

  #streamOf(tag: string, source: Source): Stream {
    const key = sourceKey(source);
    const known = this.#streams.get(key);
    if (known?.source.type === source.type && known.source.step === source.step) return known;
    if (known) this.#end(key);
    const stream: Stream = { source, tag, entry: null, held: "" };
    this.#streams.set(key, stream);
    return stream;
  }

  #push(entry: Entry, size: number): void {
    this.#entries.push(entry);
    this.size += size;
    this.hasEvents ||= entry.kind !== "line";
  }

  #end(key: string | null): void {
    const stream = this.#streams.get(key);
    if (!stream) return;
    this.#streams.delete(key);
    const { tag, source, held: text } = stream;
    if (text)
      this.#push({ kind: "text", tag, timestamp: Date.now(), ...source, text }, text.length);
  }

  #cutAll(): void {
    for (const [key, stream] of this.#streams) {
      this.#cut(stream);
      if (!stream.held) this.#streams.delete(key);
    }
  }

  #cut(stream: Stream): void {
    const { entry } = stream;
    if (!entry) return;
    const text = this.#mask(entry.text);
    const rest = text.length - this.#mask.pending(text);
    stream.held = text.slice(rest);
    entry.text = text.slice(0, rest);
    stream.entry = null;
  }
}

/** What tells streams of text apart: the attempt, and the step in it. */
const sourceKey = ({ attempt, stepID }: Source): string | null =>
  attempt === undefined ? stepID : `${attempt} ${stepID ?? ""}`;
