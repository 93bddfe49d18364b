import type { Mask } from "../contract/mask.ts";

/** What is gathered for the debug log: a line, an event with its payload's JSON, streamed text. */
export type Entry = { tag: string; timestamp: number } & (
  | { kind: "line"; content: string }
  | ({ kind: "event"; json: string } & Source)
  | ({ kind: "text"; text: string } & Source)
);

/** What an event says of itself. `step` is the number of the step that it comes before, from 1. */
export type Source = { type: string; stepID: string | null; step?: number };

type TextEntry = Extract<Entry, { kind: "text" }>;
type Stream = { source: Source; tag: string; entry: TextEntry | null; held: string };

const longestEntry = 16 * 1024;

/**
 * The lines of a debug log that are not written yet, in their order. What a step's text says with no
 * event in between is one entry; only texts that several steps stream side by side lose their order
 * among each other. No entry ends within a secret: what may be the beginning of one is held back until
 * the rest is there, or the stream has ended.
 */
export class Gathered {
  readonly #mask: Mask;
  readonly #streams = new Map<string | null, Stream>();
  #entries: Entry[] = [];

  /** About how many characters are gathered. */
  size = 0;
  /** Whether an event is among what is gathered. */
  eventful = false;

  constructor(mask: Mask) {
    this.#mask = mask;
  }

  add(entry: Exclude<Entry, TextEntry>): void {
    if (entry.kind === "event") this.#end(entry.stepID);
    this.#cutAll();
    this.#push(entry, entry.kind === "event" ? entry.json.length : entry.content.length);
  }

  /** Adds text that a stream brings. */
  addText(tag: string, source: Source, timestamp: number, text: string): void {
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

  /** Gives all that is gathered. `whole`: also what is held back, as every stream is at its end. */
  take({ whole }: { whole: boolean }): Entry[] {
    if (whole) for (const stepID of this.#streams.keys()) this.#end(stepID);
    else this.#cutAll();
    const entries = this.#entries;
    this.#entries = [];
    this.size = 0;
    this.eventful = this.#streams.size > 0;
    return entries;
  }

  #streamOf(tag: string, source: Source): Stream {
    const known = this.#streams.get(source.stepID);
    if (known?.source.type === source.type && known.source.step === source.step) return known;
    if (known) this.#end(source.stepID);
    const stream: Stream = { source, tag, entry: null, held: "" };
    this.#streams.set(source.stepID, stream);
    return stream;
  }

  #push(entry: Entry, size: number): void {
    this.#entries.push(entry);
    this.size += size;
    this.eventful ||= entry.kind !== "line";
  }

  #end(stepID: string | null): void {
    const stream = this.#streams.get(stepID);
    if (!stream) return;
    this.#streams.delete(stepID);
    const { tag, source, held: text } = stream;
    if (text)
      this.#push({ kind: "text", tag, timestamp: Date.now(), ...source, text }, text.length);
  }

  #cutAll(): void {
    for (const [stepID, stream] of this.#streams) {
      this.#cut(stream);
      if (!stream.held) this.#streams.delete(stepID);
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
