import { attemptTime } from "../contract/attempt.ts";
import { jsonText } from "../contract/json.ts";
import type { Mask } from "../contract/mask.ts";
import { system } from "../system/system.ts";
import type { InfoRecord } from "../record/record.ts";

/** An entry of the debug log: a line, an event with its payload's JSON, or streamed text. */
export type Entry = { tag: string; timestamp: number } & (
  | { kind: "line"; content: string }
  | ({ kind: "event"; json: string } & Source)
  | ({ kind: "text"; text: string } & Source)
);

/** Source of an event. `step` is the number of the next step to be committed, from 1. */
export type Source = { type: string; stepID: string | null; step?: number; attempt?: string };

type TextEntry = Extract<Entry, { kind: "text" }>;
type EventEntry = Extract<Entry, { kind: "event" }>;
/** An attempt's stream: its current entry, and the mask that holds back a possible secret. */
type Stream = {
  source: Source;
  tag: string;
  entry: TextEntry | null;
  masked: ReturnType<Mask["stream"]>;
};

const longestEntry = 16 * 1024;
const quietMs = 50;

/**
 * The unwritten lines of a debug log, in order. All text that an attempt streams between two of its events is one
 * entry, so concurrent streams of several attempts lose their relative order. Entries don't end within a secret: a
 * possible start of a secret is held back until the rest arrives or the stream ends. The start of an attempt is held
 * back until its first event, or for `quietMs`. An attempt that is committed earlier appears only in the thread's log.
 */
export class InfoBatch {
  readonly #mask: Mask;
  readonly #streams = new Map<string | null, Stream>();
  readonly #startEntry: (id: string, payload: unknown) => EventEntry;
  #first: (() => EventEntry) | null = null;
  readonly #starts = new Map<string, unknown>();
  // The last start is kept outside the map for speed: most attempts are committed before the next start.
  #lastId: string | null = null;
  #lastPayload: unknown;
  #entries: Entry[] = [];

  /** The approximate number of characters. */
  size = 0;
  /** Whether an entry must be written before the next step. */
  hasEvents = false;

  /**
   * @param startEntry Creates the entry of an attempt's start. Called only before a write: most starts are not written.
   */
  constructor(mask: Mask, startEntry: (id: string, payload: unknown) => EventEntry) {
    this.#mask = mask;
    this.#startEntry = startEntry;
  }

  /** Whether the batch is without entries and without starts of attempts. */
  get isEmpty(): boolean {
    const isBegun = this.#entries.length > 0 || this.#first !== null;
    return !isBegun && this.#lastId === null && this.#starts.size === 0;
  }

  add(entry: Exclude<Entry, TextEntry>): void {
    if (entry.kind === "event") {
      this.#release(entry.attempt);
      this.#end(sourceKey(entry));
    }
    this.#cutAll();
    this.#push(entry, entry.kind === "event" ? entry.json.length : entry.content.length);
  }

  /** Adds an event before all others. Calls `make` when the next entry is added or the entries are removed. */
  addFirst(make: () => EventEntry): void {
    this.#first = make;
  }

  addStart(id: string, payload: unknown): void {
    this.#keepLast();
    this.#lastId = id;
    this.#lastPayload = payload;
  }

  /** Withdraws the start of an attempt, if no entry of the attempt was added since then. */
  takeBack(id: string): boolean {
    if (id !== this.#lastId) return this.#starts.delete(id);
    this.#lastId = null;
    return true;
  }

  addText(tag: string, source: Source, timestamp: number, text: string): void {
    this.#release(source.attempt);
    const stream = this.#streamOf(tag, source);
    if (!stream.entry) {
      stream.entry = { kind: "text", tag, timestamp, ...source, text: "" };
      this.#push(stream.entry, 100);
    }
    stream.entry.text += text;
    this.size += text.length;
    if (stream.entry.text.length >= longestEntry) this.#cut(stream);
  }

  /**
   * Removes and returns the entries. `whole` includes held-back text and requires that all streams have ended. `now` is
   * in milliseconds since the epoch; without it, the starts of all attempts are included.
   */
  take({ whole, now }: { whole: boolean; now?: number }): Entry[] {
    this.#pushFirst();
    if (whole) for (const key of this.#streams.keys()) this.#end(key);
    else this.#cutAll();
    this.#keepLast();
    for (const id of this.#starts.keys()) {
      if (now === undefined || now - (attemptTime(id) ?? 0) >= quietMs) this.#release(id);
    }
    const entries = this.#entries;
    this.#entries = [];
    this.size = 0;
    this.hasEvents = this.#streams.size > 0;
    return entries;
  }

  #keepLast(): void {
    if (this.#lastId !== null) this.#starts.set(this.#lastId, this.#lastPayload);
    this.#lastId = null;
  }

  #release(id: string | undefined): void {
    this.#keepLast();
    if (id === undefined || !this.#starts.has(id)) return;
    const entry = this.#startEntry(id, this.#starts.get(id));
    this.#starts.delete(id);
    this.#push(entry, entry.json.length);
  }

  #streamOf(tag: string, source: Source): Stream {
    const key = sourceKey(source);
    const known = this.#streams.get(key);
    if (known?.source.type === source.type && known.source.step === source.step) return known;
    if (known) this.#end(key);
    const stream: Stream = { source, tag, entry: null, masked: this.#mask.stream() };
    this.#streams.set(key, stream);
    return stream;
  }

  #pushFirst(): void {
    const make = this.#first;
    this.#first = null;
    if (!make) return;
    const entry = make();
    this.#push(entry, entry.json.length);
  }

  #push(entry: Entry, size: number): void {
    this.#pushFirst();
    this.#entries.push(entry);
    this.size += size;
    this.hasEvents ||= entry.kind !== "line";
  }

  #end(key: string | null): void {
    const stream = this.#streams.get(key);
    if (stream) this.#cut(stream, true);
    this.#streams.delete(key);
  }

  #cutAll(): void {
    for (const stream of this.#streams.values()) this.#cut(stream);
  }

  /** Ends the entry of a stream; at the end of the stream, includes held-back text. */
  #cut(stream: Stream, isEnd = false): void {
    const { entry, tag, source, masked } = stream;
    const text = (entry ? masked.push(entry.text) : "") + (isEnd ? masked.end() : "");
    stream.entry = null;
    if (entry) entry.text = text;
    else if (text)
      this.#push(
        { kind: "text", tag, timestamp: system.clock.now(), ...source, text },
        text.length,
      );
  }
}

/** The key of a text stream: the attempt, and the step in it. */
const sourceKey = ({ attempt, stepID }: Source): string | null =>
  attempt === undefined ? stepID : `${attempt} ${stepID ?? ""}`;

const longestLine = 256 * 1024;
const longestText = 32 * 1024;

/**
 * Formats an entry as JSON lines without secrets. `number` returns an event's `seq`. Never throws.
 */
export function linesOf(entry: Entry, mask: Mask, number: () => number): string[] {
  switch (entry.kind) {
    case "line": {
      const { tag, content, timestamp } = entry;
      const line = jsonText({ tag, content: mask(content), timestamp } satisfies InfoRecord);
      if (line.length <= longestLine) return [line];
      return [jsonText({ tag, content: mask(content).slice(0, 1000), timestamp })];
    }
    case "event":
      return [eventLine(entry, entry.json, mask, number())];
    case "text":
      return pieces(entry.text).map((delta) =>
        eventLine(entry, jsonText({ delta }), mask, number()),
      );
  }
}

function eventLine(
  { tag, timestamp, type, stepID, step, attempt }: Exclude<Entry, { kind: "line" }>,
  payload: string,
  mask: Mask,
  seq: number,
): string {
  // Written by hand for speed: a model's turn has a dozen events, and their heads can't fail to serialize.
  const name = JSON.stringify(mask(type).slice(0, 1000));
  const source = stepID === null ? "null" : JSON.stringify(mask(stepID).slice(0, 1000));
  const head = `"tag":${JSON.stringify(tag)},"content":${name},"timestamp":${timestamp},"type":${name},"stepID":${source}`;
  const whole = payload.length <= longestLine - 4096 ? payload : '{"_truncated":true}';
  const ofStep = step === undefined ? "" : `,"step":${step}`;
  const ofAttempt = attempt === undefined ? "" : `,"attempt":${JSON.stringify(attempt)}`;
  return `{${head},"payload":${whole},"seq":${seq}${ofStep}${ofAttempt}}`;
}

/** Splits a text into pieces of bounded length without splitting a character. */
function pieces(text: string): string[] {
  const found: string[] = [];
  for (let from = 0; from < text.length; ) {
    let end = from + longestText;
    const last = text.charCodeAt(end - 1);
    if (end < text.length && last >= 0xd800 && last < 0xdc00) end -= 1;
    found.push(text.slice(from, end));
    from = end;
  }
  return found;
}
