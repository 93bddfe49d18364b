import { totalTokens } from "@uncaged/workflow/interpreter";
import type { Usage } from "@uncaged/workflow";
import { publish } from "../run/run.ts";
import { ProviderError } from "./error.ts";
import { type Block, blocksOf, type Message, type ModelAnswer } from "./provider.ts";
import type { Summarised } from "./recorded.ts";
import { tokensAbout } from "./tokens.ts";
import { invalidContext } from "./errors.ts";

/**
 * The condition for summarising a conversation: its tokens reach the share `compactAt` (0.8) of the model's context
 * `window` (the documented window by default).
 */
export type ContextOptions = { window?: number; compactAt?: number };

// The smallest input windows of models, in tokens, by the prefix of the model's name, with longer prefixes first.
const windows: readonly [name: string, tokens: number][] = [
  ["claude-", 200_000],
  ["gpt-4.1", 1_000_000],
  ["gpt-4o", 128_000],
  ["gpt-5", 272_000],
  ["gpt-6", 272_000],
  ["o3", 200_000],
  ["o4", 200_000],
];

const usualShare = 0.8;
const tooManyBytes = 413;

/**
 * Returns the number of tokens at which to summarise a conversation, or null if the model's window is unknown.
 * @throws WorkflowError `BAD_CONTEXT` for an invalid window or share.
 */
export function compactAtOf(
  model: string,
  { window, compactAt = usualShare }: ContextOptions = {},
): number | null {
  const isWindow = window === undefined || (Number.isInteger(window) && window > 0);
  if (!isWindow || !(compactAt > 0 && compactAt <= 1)) {
    throw isWindow ? invalidContext("compactAt", compactAt) : invalidContext("window", window);
  }
  const known = window ?? windows.find(([name]) => model.startsWith(name))?.[1];
  return known === undefined ? null : Math.floor(known * compactAt);
}

/** Requests an answer from the conversation's model without adding it to the conversation. */
export type AskAside = (messages: readonly Message[]) => Promise<ModelAnswer>;

// Maximum length of a result that is not shortened, and the lengths of the remaining start and end of a longer result,
// in characters.
const [longestResult, shownStart, shownEnd] = [6000, 3000, 1000];
// Maximum size of a last exchange that is kept unchanged, in tokens.
const longestTail = 10_000;

const instruction = `Your context is nearly full. It is about to be replaced by a summary, which you write now; call no tool. \
Write down everything that you need to continue the task without the text above: the request, your work and findings \
(names, paths, numbers, decisions, errors, in full), the unfinished work, and your next step.`;

const noteOf = (summary: string): string =>
  `The earlier conversation no longer fits. This is your own summary of it:\n\n<summary>\n${summary}\n</summary>\n\nGo on from here.`;

/** The messages of a conversation. When the model's context window is nearly full, a summary replaces the messages. */
export class Compaction {
  readonly messages: Message[];
  readonly #initial: readonly Message[];
  #at: number;
  /** The tokens of the last turn. `#least` has the tokens of the first turn since the last summary. */
  #size = 0;
  #least: number | null = null;
  #learned: number | undefined;
  #isCompact = false;

  /** @param at The number of tokens at which the window is nearly full, or null if unknown. */
  constructor(initial: readonly Message[], at: number | null) {
    this.#initial = initial;
    this.messages = [...initial];
    this.#at = at ?? Number.POSITIVE_INFINITY;
  }

  /** Records the provider's counts of a turn. */
  counted(usage: Usage): void {
    this.#size = totalTokens(usage);
    this.#least ??= this.#size;
  }

  /** The number of tokens at which to summarise, if a refusal revealed it. Recorded with a summary. */
  get learned(): number | undefined {
    return this.#learned;
  }

  /** Lowers the threshold for a summary after the model refused the conversation as too long. */
  refused({ message, status }: ProviderError): void {
    // A limit in bytes, for example of pictures, does not reveal a limit in tokens.
    if (status === tooManyBytes) return;
    const sent = this.#size + tokensAbout(this.messages.at(-1) ?? "");
    const named = windowIn(message);
    // The window is at least as large as an accepted request, so a smaller number in the message is wrong.
    const window = named !== null && named >= this.#size ? Math.min(named, sent) : sent;
    this.#comesAt(Math.floor(window * usualShare));
  }

  #comesAt(tokens: number): void {
    this.#at = Math.min(this.#at, tokens);
    this.#learned = this.#at;
  }

  /** Whether to summarise before the next turn. The first request cannot be shortened. */
  get isDue(): boolean {
    const { messages } = this;
    const last = messages.at(-1);
    const size = this.#size + (last ? tokensAbout(last.content) : 0);
    return this.#canCompact && size >= this.#at && size - (this.#least ?? 0) >= this.#at / 4;
  }

  get #canCompact(): boolean {
    return this.messages.length > this.#initial.length && this.messages.at(-1)?.role === "user";
  }

  /**
   * Makes the model summarise the conversation. If the conversation does not fit into the window, tries again with long
   * results shortened, then without the first half, then without the first three quarters. Returns null if all tries
   * fail. The conversation then continues unchanged.
   */
  async summary(ask: AskAside, isFull: boolean): Promise<string | null> {
    if (!this.#canCompact) return null;
    let problem = "the model returned no text";
    const short = this.messages.map(shortened);
    const shorter = [2, 4].map((parts) => this.#later(short, parts));
    for (const messages of [this.messages, short, ...shorter].slice(isFull ? 1 : 0)) {
      try {
        const { text } = await ask([...messages.slice(0, -1), withText(messages.at(-1))]);
        if (text.trim()) {
          publish("llm_compacted", { tokens: this.#size, summary: text });
          return text;
        }
      } catch (error) {
        if (!(error instanceof ProviderError)) throw error;
        problem = error.message;
        if (!isContextFull(error)) break;
      }
    }
    const message = `the conversation could not be summarised, and continues in full: ${problem}`;
    publish("tool_message", { name: "context", level: "warn", message, data: null });
    return null;
  }

  /**
   * Returns the messages with only the last 1/`parts` of the conversation, from an answer on, so that each result
   * follows its call.
   */
  #later(messages: readonly Message[], parts: number): readonly Message[] {
    const start = this.#initial.length + (this.#isCompact ? 1 : 0);
    const from = start + Math.floor(((messages.length - start) * (parts - 1)) / parts);
    const answers = messages.findIndex(({ role }, at) => at >= from && role === "assistant");
    if (answers <= start) return messages;
    const note: Message = {
      role: "user",
      content: "[Earlier messages are left out: they did not fit]",
    };
    return [...messages.slice(0, start), note, ...messages.slice(answers)];
  }

  /** Replaces all messages except the first request and the last exchange by a summary. */
  compact({ summary, at }: Summarised): void {
    const { messages } = this;
    if (at !== undefined) this.#comesAt(at);
    const [said, answer] = messages.slice(-2);
    const isExchange = said?.role === "assistant" && answer !== undefined;
    const tail = isExchange ? [said, answer] : [];
    const isLong = tokensAbout(tail) > Math.min(this.#at / 4, longestTail);
    const kept = isLong ? tail.map(shortened) : tail;
    const note: Message = { role: "user", content: [{ type: "text", text: noteOf(summary) }] };
    messages.splice(0, messages.length, ...this.#initial, note, ...kept);
    this.#least = null;
    this.#size = 0;
    this.#isCompact = true;
  }
}

// Matches the window size in the messages of Anthropic, OpenAI and vLLM, Gemini, and llama.cpp about a conversation
// that is too long.
const namedWindow =
  /> ([\d,]+)|(?:maximum context length|maximum prompt length) (?:is|of) ([\d,]+)|tokens allowed \(?([\d,]+)|context size \(([\d,]+)/i;

/** Returns the window size in an error message, in tokens, or null. */
function windowIn(message: string): number | null {
  const digits = namedWindow.exec(message)?.slice(1).find(Boolean)?.replaceAll(",", "");
  return digits === undefined || !(Number(digits) > 0) ? null : Number(digits);
}

export const isContextFull = (error: unknown): error is ProviderError =>
  error instanceof ProviderError &&
  (error.code === "LLM_CONTEXT_FULL" || error.type === "context_length_exceeded");

const withText = (message: Message | undefined): Message => ({
  role: "user",
  content: [...(message ? blocksOf(message) : []), { type: "text", text: instruction }],
});

/** Returns a message with long tool results shortened to their start and end. */
function shortened(message: Message): Message {
  if (typeof message.content === "string") return message;
  return { ...message, content: message.content.map(shortResult) };
}

function shortResult(block: Block): Block {
  const { content, parts, ...rest } = block;
  if (block.type !== "tool_result" || typeof content !== "string") return block;
  const isLong = content.length > longestResult;
  if (!isLong && parts === undefined) return block;
  const left = content.length - shownStart - shownEnd;
  const text = isLong
    ? `${content.slice(0, shownStart).toWellFormed()}\n[${left} characters are left out: they did not fit]\n${content.slice(-shownEnd).toWellFormed()}`
    : content;
  return { ...rest, content: parts === undefined ? text : `${text}\n[its pictures are left out]` };
}
