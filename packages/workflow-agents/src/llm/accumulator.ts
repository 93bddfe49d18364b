import { noUsage, parseExact, roundedIn } from "@uncaged/workflow/interpreter";
import type { Usage } from "@uncaged/workflow";
import { isObject } from "../run/error.ts";
import type { Received } from "./events.ts";
import type { ModelAnswer, ModelSink, PartialUsage, ToolUse } from "./provider.ts";

const piecesPerBlock = 1024;

/**
 * A text that arrives in small pieces. Regularly joins the pieces, so that the text takes only the memory of its
 * characters.
 */
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

/** Builds an answer from a provider's events, and passes on the parts of the answer as they arrive. */
export abstract class Accumulator {
  /** The number of characters so far: text, thinking and tool calls. */
  size = 0;
  /** Whether the answer is complete. Later events are ignored. */
  isWhole = false;
  protected id = "";
  protected model = "";
  protected usage: Usage = noUsage;
  readonly #sink: ModelSink;
  readonly #unread = new Set<string>();

  constructor(sink: ModelSink) {
    this.#sink = sink;
  }

  /** Adds a part of the body. @throws UnreadableContent if an event does not follow the protocol. */
  take(received: Received): void {
    if (this.isWhole) return;
    if (received.kind === "done") this.isWhole = this.isOverAtDone;
    else this.add(received.value, received.kind === "document");
    if (received.kind === "document") this.isWhole = true;
  }

  /** Whether the stream's end mark completes the answer. A gateway may also send the mark after a broken answer. */
  protected get isOverAtDone(): boolean {
    return false;
  }

  protected abstract add(value: unknown, isWhole: boolean): void;

  /**
   * Returns the answer, or null while the answer is incomplete.
   * @throws UnreadableContent
   */
  abstract answer(): ModelAnswer | null;

  /** The usage so far, or null if none was reported. */
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

  /** Records a piece of an unknown kind, which the answer leaves out. */
  protected leave(piece: string): void {
    if (this.#unread.size < mostUnread) this.#unread.add(piece.slice(0, 60));
  }

  /** Returns the fields about unreadable pieces and missing usage. */
  protected notes(isCounted: boolean): Pick<ModelAnswer, "unread" | "isUncounted"> {
    return {
      ...(this.#unread.size > 0 && { unread: [...this.#unread] }),
      ...(!isCounted && { isUncounted: true as const }),
    };
  }

  protected count(usage: Usage): void {
    this.usage = usage;
    this.#sink.onUsage?.({ model: this.model, usage });
  }
}

const mostUnread = 20;

/**
 * Parses a tool call's arguments. An integer that a JavaScript number would round becomes a string, and `exact` keeps
 * the JSON. If the arguments are not a JSON object, `broken` describes the problem to the model.
 */
export function argumentsOf(json: string): Pick<ToolUse, "input" | "exact" | "broken"> {
  const text = onceOf(json.trim()) || "{}";
  try {
    const input = parseExact(text);
    // Some servers encode the JSON twice.
    if (typeof input === "string" && isObjectText(input)) return argumentsOf(input);
    if (!isObject(input)) return { input: {}, broken: "its arguments are JSON, but not an object" };
    return roundedIn(text) ? { input, exact: text } : { input };
  } catch {
    return {
      input: {},
      broken: `its arguments are invalid JSON: ${json.slice(0, 200).toWellFormed()}`,
    };
  }
}

/** Returns one copy of a JSON object that a server sent twice, and any other text unchanged. */
function onceOf(text: string): string {
  const half = text.slice(0, text.length / 2);
  return text.length % 2 === 0 && text === half + half && isObjectText(half) ? half : text;
}

/** Returns whether a text is a complete JSON object. */
export function isObjectText(text: string): boolean {
  try {
    return isObject(JSON.parse(text));
  } catch {
    return false;
  }
}

/** Returns the ids of an answer's calls, with a new id for each missing or repeated id. */
export function idsOf(given: readonly string[], prefix: string): string[] {
  const taken = new Set(given);
  const seen = new Set<string>();
  return given.map((id, at) => {
    let own = id || `${prefix}${at}`;
    for (let nth = 2; seen.has(own) || (own !== id && taken.has(own)); nth += 1) {
      own = `${id || prefix}_${at}_${nth}`;
    }
    seen.add(own);
    return own;
  });
}
