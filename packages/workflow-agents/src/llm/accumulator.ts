import { noUsage } from "@uncaged/workflow/interpreter";
import type { Usage } from "@uncaged/workflow";
import { isObject } from "../run/error.ts";
import type { ModelAnswer, ModelSink, PartialUsage } from "./provider.ts";

const piecesPerBlock = 1024;

/** A text that is streamed in small pieces: joined now and then, it takes the memory of its characters only. */
export class GrowingText {
  #text = "";
  #pieces: string[] = [];

  add(piece: string): void {
    this.#pieces.push(piece);
    if (this.#pieces.length >= piecesPerBlock) this.#join();
  }

  toString(): string {
    this.#join();
    return this.#text;
  }

  #join(): void {
    this.#text += this.#pieces.join("");
    this.#pieces = [];
  }
}

/** Builds an answer from the events of a provider's stream, and passes on what they bring. */
export abstract class Accumulator<Event> {
  /** Its characters so far: text, thinking and tool calls. */
  size = 0;
  protected id = "";
  protected model = "";
  protected usage: Usage = noUsage;
  readonly #sink: ModelSink;

  constructor(sink: ModelSink) {
    this.#sink = sink;
  }

  /** Throws on an event that is not of the protocol. */
  abstract add(event: Event): void;

  /** The answer, null as long as its end has not come. */
  abstract answer(): ModelAnswer | null;

  /** What was counted so far, null when nothing was. */
  get partial(): PartialUsage | null {
    return this.usage === noUsage ? null : { model: this.model, usage: this.usage };
  }

  protected text(to: GrowingText, delta: string): void {
    this.grow(to, delta);
    this.#sink.onToken?.(delta);
  }

  protected think(to: GrowingText, delta: string): void {
    this.grow(to, delta);
    this.#sink.onThinking?.(delta);
  }

  protected grow(to: GrowingText, delta: string): void {
    this.size += delta.length;
    to.add(delta);
  }

  protected count(usage: Usage): void {
    this.usage = usage;
    this.#sink.onUsage?.({ model: this.model, usage });
  }
}

/** A tool call's arguments, from JSON. What is no JSON object is `broken`, in words for the model. */
export function argumentsOf(json: string): { input: object; broken?: string } {
  try {
    const input: unknown = JSON.parse(json.trim() || "{}");
    if (isObject(input)) return { input };
    return { input: {}, broken: "its arguments are JSON, but no object" };
  } catch {
    return { input: {}, broken: `its arguments are no JSON: ${json.slice(0, 200)}` };
  }
}
