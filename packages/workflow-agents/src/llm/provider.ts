import type { Usage } from "../call/usage.ts";
import type { ToolDefinition } from "../tools/tools.ts";
import type { Told } from "./error.ts";
import type { Block, Message, ToolUseBlock } from "./message.ts";

/** How hard a model is to try. Not every model knows every word. */
export type Effort = "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

/**
 * How a model thinks before it answers. With `adaptive` it decides itself; `between_tools` thinks
 * between tool calls only; `budgetTokens` (at least 1,024, part of `maxTokens`) is for models from
 * before `adaptive`.
 */
export type Thinking = "adaptive" | "between_tools" | "disabled" | { budgetTokens: number };

/** The form that the answer's text must have. `schema` is a JSON Schema of an object. */
export type Format = { type: "json_object" } | { type: "json_schema"; schema: object };

/** One question to a model: all that it is to see. */
export type LLMRequest = {
  model: string;
  system: string;
  messages: readonly Message[];
  tools: readonly ToolDefinition[];
  /** The most tokens of the answer; without it the provider's own limit. */
  maxTokens?: number;
  temperature?: number;
  thinking?: Thinking;
  effort?: Effort;
  format?: Format;
};

/** Where an answer goes while it arrives. None may throw. */
export type LLMSink = {
  onToken: (delta: string) => void;
  onThinking: (delta: string) => void;
  /** What the service has counted of the answer so far, each time that it says so. */
  onUsage?: (told: Told) => void;
};

/** What a call takes from the thread: its environment, for keys, and its signal. */
export type Surroundings = { env: Readonly<Record<string, string>>; signal?: AbortSignal };

/** Why a model stopped, the same words for every provider. */
export type Stop =
  | "end"
  | "tools"
  | "truncated"
  | "paused"
  | "refused"
  | "context_full"
  | "unknown";

/** A tool call as it was answered. `broken` says why its arguments are no JSON object. */
export type ToolUse = ToolUseBlock & { broken?: string };

/** A model's whole answer to one request. */
export type LLMAnswer = {
  id: string;
  model: string;
  /** To be put into the conversation as the assistant's message. */
  blocks: Block[];
  text: string;
  thinking: string;
  toolUses: ToolUse[];
  stop: Stop;
  /** The provider's own word for `stop`. */
  finishReason: string;
  /** What the provider says about the stop, if anything: why it refused. */
  detail?: string;
  usage: Usage;
};

/** A service that answers requests. `name` is its name in messages. */
export type LLMProvider = {
  name: string;
  /**
   * Asks once, streaming. Retries are the provider's official client's.
   * @throws LLMError whatever goes wrong; when `signal` is aborted its reason, with the connection closed.
   */
  answer: (request: LLMRequest, sink: LLMSink, around: Surroundings) => Promise<LLMAnswer>;
  /**
   * Has the service count the most tokens that a request's input has, at no cost. Only for a service
   * that can do so.
   * @throws LLMError and the signal's reason as `answer` does.
   */
  countInput?: (request: LLMRequest, around: Surroundings) => Promise<number>;
};
