import type { Usage } from "@uncaged/workflow";
import type { Part } from "../content/part.ts";
import type { ResponseHead } from "../limit/headers.ts";
import type { ToolDefinition } from "../tools/tools.ts";

/**
 * A model's request to run a tool. `broken` is set if the arguments are not a JSON object, and describes the problem.
 * Integers that a JavaScript number would round are strings in `input`. In this case, `exact` is the JSON that the
 * model sent.
 */
export type ToolUse = { id: string; name: string; input: object; exact?: string; broken?: string };

/**
 * The result of a tool call. `tool_use_id` is the `id` of the {@link ToolUse}. `parts` are pictures and documents, for
 * which `content` has notes.
 */
export type ToolResult = {
  tool_use_id: string;
  content: string;
  is_error?: boolean;
  parts?: Part[];
};

/**
 * One block of a message: `{type: "text", text}`, `{type: "tool_use", …ToolUse}`, `{type: "tool_result", …ToolResult}`,
 * a {@link Part}, or a block in the provider's format, such as signed `thinking`, which is sent back unchanged.
 */
export type Block = { type: string; [field: string]: unknown; [cacheEnd]?: boolean };

/**
 * Marks the last block that an earlier call had in common with this call. A provider's cache may contain everything up
 * to this block.
 */
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

/** The effort of a model. Each model supports only some of the values. */
export type Effort = "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

/**
 * The thinking of a model before it answers. With `between_tools`, the model thinks only between tool calls.
 * `budgetTokens` (at least 1,024, and part of `maxTokens`) is for older models without `adaptive`.
 */
export type Thinking = "adaptive" | "between_tools" | "disabled" | { budgetTokens: number };

/** The required form of the answer's text. `schema` is a JSON Schema of an object. */
export type Format = { type: "json_object" } | { type: "json_schema"; schema: object };

/** A tool that the provider runs, in the provider's format: `{ type: "web_search" }`. */
export type HostedTool = { type: string; [field: string]: unknown };

/** A call of a hosted tool, with its result. */
export type HostedCall = { id: string; name: string; input: object; result: string };

/** One model call, in a format for all providers. The provider's defaults apply to omitted options. */
export type ModelRequest = {
  model: string;
  system: string;
  messages: readonly Message[];
  tools: readonly ToolDefinition[];
  /** Tools that the provider runs. */
  hostedTools?: readonly HostedTool[];
  /** Maximum number of tokens in the answer. Default: the provider's limit. */
  maxTokens?: number;
  temperature?: number;
  thinking?: Thinking;
  effort?: Effort;
  format?: Format;
};

/** The model and the usage of an unfinished answer. */
export type PartialUsage = { model: string; usage: Usage };

/** Callbacks for the parts of an answer that is streamed. The callbacks must not throw. */
export type ModelSink = {
  onToken?: (delta: string) => void;
  onThinking?: (delta: string) => void;
  /** Called with the answer's usage so far, each time that the service reports it. */
  onUsage?: (partial: PartialUsage) => void;
  /** Called with the head of the service's response, before the answer. */
  onResponse?: (head: ResponseHead) => void;
};

/** The parts of a thread that a model call uses: the environment, for keys, and the signal. */
export type Surroundings = { env: Readonly<Record<string, string>>; signal?: AbortSignal };

/** The reason why a model stopped, with the same values for all providers. */
export type Stop =
  | "end"
  | "tools"
  | "truncated"
  | "paused"
  | "refused"
  | "context_full"
  | "unknown";

/** A model's complete answer to one request. */
export type ModelAnswer = {
  id: string;
  model: string;
  /** The assistant's message for the conversation. */
  blocks: Block[];
  text: string;
  thinking: string;
  toolUses: ToolUse[];
  /** Calls of hosted tools. */
  hosted?: HostedCall[];
  stop: Stop;
  finishReason: string;
  /** The provider's explanation of the stop, for example the reason for a refusal. */
  detail?: string;
  usage: Usage;
  /** Whether the service did not report all usage. `usage` has the reported part. */
  isUncounted?: true;
  /** Descriptions of the unreadable pieces of the answer. */
  unread?: string[];
};

/** The provider, model and address of a call, and the secrets that error messages must not contain. */
export type CallTarget = {
  provider: string;
  model: string;
  baseUrl: string;
  secrets: readonly string[];
};

/** A service that answers requests. Error messages contain `name`. */
export type ModelProvider = {
  name: string;
  /** The lifetime of the service's cache entries, if it affects the price. */
  cacheWrites?: "1h";
  /** Maximum number of retries of a failed call, unless a role sets it (2). */
  maxRetries?: number;
  /**
   * Makes one streamed call.
   * @throws ProviderError; the reason of `signal` if the signal is aborted, after the connection is closed.
   */
  answer: (
    request: ModelRequest,
    sink: ModelSink,
    surroundings: Surroundings,
  ) => Promise<ModelAnswer>;
  /** Returns the address and the key for requests to a model, if the service has rate limits. */
  target?: (model: string, surroundings: Surroundings) => CallTarget;
  /** Returns the maximum number of input tokens of a request, as the service counts it for free. */
  countInput?: (request: ModelRequest, surroundings: Surroundings) => Promise<number>;
};
