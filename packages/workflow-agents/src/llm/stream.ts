import { checkAccess } from "./access.ts";
import { LLMError, type Told } from "./error.ts";
import { type Asked, type Fault, hostOf, llmError } from "./fault.ts";
import type { LLMAnswer } from "./provider.ts";
import { type Limits, Watch } from "./watch.ts";

/** How a provider is reached, and how long it is waited for. */
export type Access = {
  apiKey?: string;
  baseUrl?: string;
  /** How long the provider may take until it begins to answer, each time it is asked (10 minutes). */
  timeoutMs?: number;
  /** How long it may then send nothing at all (4 minutes). */
  silenceMs?: number;
  /** How often the provider's client asks again when an answer could not begin (2). */
  maxRetries?: number;
  /** The most characters of one answer: its text, thinking and tool calls together (16 Mi). */
  maxAnswerLength?: number;
};

/** The bounds of one answer. */
export type Patience = Required<Omit<Access, "apiKey" | "baseUrl">>;

/** What the options leave open. */
export const patienceOf = (access: Access): Patience => ({
  timeoutMs: access.timeoutMs ?? 600_000,
  silenceMs: access.silenceMs ?? 240_000,
  maxRetries: access.maxRetries ?? 2,
  maxAnswerLength: access.maxAnswerLength ?? 16 * 2 ** 20,
});

// An event that brings a few characters has some 150 bytes around them.
const bytesPerCharacter = 16;

/** What takes a stream's events in. `take` throws on an event that is not of the protocol. */
export type Arriving<Event, Answer = LLMAnswer> = {
  take: (event: Event) => void;
  /** The answer, null as long as its end has not come. */
  answer: () => Answer | null;
  /** What was counted of it so far, null when nothing was. */
  readonly told: Told | null;
  readonly size: number;
};

/** A provider's stream, and how to read what its client throws. */
export type Source<Event> = {
  open: (watch: Watch) => Promise<AsyncIterable<Event> | Iterable<Event>>;
  faultOf: (error: unknown) => Fault | null;
};

/**
 * Opens a stream and takes it in to its end.
 * @throws LLMError whatever goes wrong; the signal's reason when it is aborted.
 */
export async function answered<Event, Answer = LLMAnswer>(
  { open, faultOf }: Source<Event>,
  arriving: Arriving<Event, Answer>,
  { asked, patience, signal }: { asked: Asked; patience: Patience; signal?: AbortSignal },
): Promise<Answer> {
  checkAccess(asked);
  const { maxAnswerLength, silenceMs } = patience;
  const limits = { silenceMs, maxBytes: maxAnswerLength * bytesPerCharacter };
  const watch = new Watch(limits, signal);
  let begun = false;
  try {
    const events = await open(watch);
    for await (const event of events) {
      begun = true;
      take(arriving, event, asked);
      if (arriving.size > maxAnswerLength) throw tooLarge(asked, `${maxAnswerLength} characters`);
    }
    signal?.throwIfAborted();
    if (watch.broken) throw brokenError(watch.broken, asked, limits);
    const answer = arriving.answer();
    if (answer !== null) return answer;
    throw llmError(begun ? { kind: "cut", reason: "its end never came" } : { kind: "json" }, asked);
  } catch (thrown) {
    signal?.throwIfAborted();
    const error = watch.broken
      ? brokenError(watch.broken, asked, limits)
      : errorOf(thrown, faultOf, begun || watch.answering, asked);
    error.told = arriving.told;
    throw error;
  } finally {
    watch.close();
  }
}

function errorOf(
  thrown: unknown,
  faultOf: (error: unknown) => Fault | null,
  begun: boolean,
  asked: Asked,
): LLMError {
  if (thrown instanceof LLMError) return thrown;
  const reason = reasonOf(thrown);
  const unknown: Fault = begun ? { kind: "cut", reason } : { kind: "other", message: reason };
  return llmError(faultOf(thrown) ?? unknown, asked);
}

function take<Event>(arriving: Arriving<Event, unknown>, event: Event, asked: Asked): void {
  try {
    arriving.take(event);
  } catch (error) {
    if (error instanceof LLMError) throw error;
    throw llmError({ kind: "json" }, asked);
  }
}

function brokenError(broken: NonNullable<Watch["broken"]>, asked: Asked, limits: Limits): LLMError {
  const at = `${asked.provider} at ${hostOf(asked.baseUrl)}`;
  if (broken === "too large") return tooLarge(asked, `${limits.maxBytes} bytes`);
  return new LLMError("LLM_SILENT", `${at} sent nothing for ${limits.silenceMs} ms`);
}

function tooLarge({ provider }: Asked, most: string): LLMError {
  return new LLMError("LLM_TOO_LARGE", `${provider} sent an answer of more than ${most}`);
}

/** Why a connection failed, in a word or a sentence. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ("code" in error && typeof error.code === "string") return error.code;
  return error.cause === undefined ? error.message : reasonOf(error.cause);
}
