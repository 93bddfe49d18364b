import type { Usage } from "@uncaged/workflow";
import type { Part } from "../content/part.ts";
import type { ResponseHead } from "../limit/headers.ts";
import type { ToolDefinition } from "../tools/tools.ts";

/**
 * A model's request to run a tool. `broken` is the reason why the arguments are not a JSON object. Integers beyond 2^53
 * that a number would round are strings in `input`; then `exact` is the JSON as the model sent it.
 */
export type ToolUse = { id: string; name: string; input: object; exact?: string; broken?: string };

/**
 * A tool's answer. `tool_use_id` is the `id` of its {@link ToolUse}. `parts` are the pictures and documents that
 * `content` has notes about.
 */
export type ToolResult = {
  tool_use_id: string;
  content: string;
  is_error?: boolean;
  parts?: Part[];
};

/**
 * One block of a message: `{type: "text", text}`, `{type: "tool_use", …ToolUse}`, `{type: "tool_result", …ToolResult}`,
 * a {@link Part}, or a block in the provider's own format, which is sent back unchanged (signed `thinking`).
 */
export type Block = { type: string; [field: string]: unknown; [cacheEnd]?: boolean };

/** Marks the last block of an earlier call with the same start. A provider's cache may contain everything up to it. */
export const cacheEnd = Symbol("cacheEnd");

/** One message of a conversation. A `system` message is added to the system prompt. */
export type Message = { role: "user" | "assistant" | "system"; content: string | Block[] };

export const blocksOf = ({ content }: Message): Block[] =>
  typeof content === "string" ? [{ type: "text", text: content }] : content;

export const textOf = (blocks: readonly Block[], separator = ""): string =>
  blocks
    .filter(({ type }) => type === "text")
    .map(({ text }) => (typeof text === "string" ? text : ""))
    .join(separator);

/** The effort of a model. Not every model supports every value. */
export type Effort = "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

/**
 * The thinking of a model before it answers. `between_tools` thinks between tool calls only; `budgetTokens` (at least
 * 1,024, part of `maxTokens`) is for older models without `adaptive`.
 */
export type Thinking = "adaptive" | "between_tools" | "disabled" | { budgetTokens: number };

/** The required form of the answer's text. `schema` is a JSON Schema of an object. */
export type Format = { type: "json_object" } | { type: "json_schema"; schema: object };

/** A tool that the provider itself runs, in its format: `{ type: "web_search" }`. */
export type HostedTool = { type: string; [field: string]: unknown };

/** A tool call that the provider ran, with its result. */
export type HostedCall = { id: string; name: string; input: object; result: string };

/** One model call, in a form for all providers. Omitted options have the provider's defaults. */
export type ModelRequest = {
  model: string;
  system: string;
  messages: readonly Message[];
  tools: readonly ToolDefinition[];
  /** Tools that the provider runs itself. */
  hostedTools?: readonly HostedTool[];
  /** Maximum tokens of the answer. Default: the provider's own limit. */
  maxTokens?: number;
  temperature?: number;
  thinking?: Thinking;
  effort?: Effort;
  format?: Format;
};

/** The usage of an unfinished answer, and its model. */
export type PartialUsage = { model: string; usage: Usage };

/** Receives an answer while it is streamed. The callbacks must not throw. */
export type ModelSink = {
  onToken?: (delta: string) => void;
  onThinking?: (delta: string) => void;
  /** Gets the answer's usage so far, each time that the service reports it. */
  onUsage?: (partial: PartialUsage) => void;
  /** The head of the service's response, before the answer. */
  onResponse?: (head: ResponseHead) => void;
};

/** The parts of a thread that a call uses: the environment, for keys, and the signal. */
export type Surroundings = { env: Readonly<Record<string, string>>; signal?: AbortSignal };

/** The reason why a model stopped, with the same values for every provider. */
export type Stop =
  | "end"
  | "tools"
  | "truncated"
  | "paused"
  | "refused"
  | "context_full"
  | "unknown";

/** A model's whole answer to one request. */
export type ModelAnswer = {
  id: string;
  model: string;
  /** The assistant's message for the conversation. */
  blocks: Block[];
  text: string;
  thinking: string;
  toolUses: ToolUse[];
  /** Tool calls that the provider ran itself. */
  hosted?: HostedCall[];
  stop: Stop;
  finishReason: string;
  /** The provider's explanation of the stop, for example the reason for a refusal. */
  detail?: string;
  usage: Usage;
  /** Whether the service did not report all usage. `usage` has the reported part. */
  isUncounted?: true;
  /** The unreadable pieces of the answer. */
  unread?: string[];
};

/** The target of a call, and the secrets that messages must not contain. */
export type CallTarget = {
  provider: string;
  model: string;
  baseUrl: string;
  secrets: readonly string[];
};

/** A service that answers requests. Messages use `name`. */
export type ModelProvider = {
  name: string;
  /** The lifetime of its cache entries, if that affects the price. */
  cacheWrites?: "1h";
  /** Retries of a failed call, unless a role sets them (2). */
  maxRetries?: number;
  /**
   * Makes one streamed call.
   * @throws ProviderError; the reason of `signal` when it is aborted, after closing the connection.
   */
  answer: (
    request: ModelRequest,
    sink: ModelSink,
    surroundings: Surroundings,
  ) => Promise<ModelAnswer>;
  /** Returns the address and key of requests to a model, for a service with rate limits. */
  target?: (model: string, surroundings: Surroundings) => CallTarget;
  /** Returns the service's free count of the maximum input tokens of a request, if it has one. */
  countInput?: (request: ModelRequest, surroundings: Surroundings) => Promise<number>;
};
