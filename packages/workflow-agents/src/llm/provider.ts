import type { Usage } from "@uncaged/workflow";
import type { Part } from "../content/part.ts";
import type { ResponseHead } from "../limit/headers.ts";
import type { ToolDefinition } from "../tools/tools.ts";

/**
 * A model's request to run a tool. `broken` says why its arguments are not a JSON object. Integers beyond 2^53 that a
 * number would round are texts in `input`; then `exact` is the JSON as the model sent it.
 */
export type ToolUse = { id: string; name: string; input: object; exact?: string; broken?: string };

/**
 * A tool's answer. `tool_use_id` is the `id` of the {@link ToolUse} that asked for it; `parts` are the pictures and
 * documents, of which `content` has notes.
 */
export type ToolResult = {
  tool_use_id: string;
  content: string;
  is_error?: boolean;
  parts?: Part[];
};

/**
 * One block of a message: `{type: "text", text}`, `{type: "tool_use", …ToolUse}`, `{type: "tool_result",
 * …ToolResult}`, a {@link Part}, or one of the provider's own, which is handed back as it came (`thinking`, signed).
 */
export type Block = { type: string; [field: string]: unknown; [cacheEnd]?: boolean };

/** Marks the last block that an earlier call with the same start had: a provider's cache may hold all up to it. */
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

/** How hard a model is to try. Not every model knows every word. */
export type Effort = "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

/**
 * How a model thinks before it answers. `between_tools` thinks between tool calls only; `budgetTokens` (at
 * least 1,024, part of `maxTokens`) is for models from before `adaptive`, which decide themselves.
 */
export type Thinking = "adaptive" | "between_tools" | "disabled" | { budgetTokens: number };

/** The form that the answer's text must have. `schema` is a JSON Schema of an object. */
export type Format = { type: "json_object" } | { type: "json_schema"; schema: object };

/** A tool that the provider itself runs, in its format: `{ type: "web_search" }`. */
export type HostedTool = { type: string; [field: string]: unknown };

/** A tool call that the provider ran, with its result. */
export type HostedCall = { id: string; name: string; input: object; result: string };

/** One call of a model, in the form that all providers take. Options that are left out are the provider's defaults. */
export type ModelRequest = {
  model: string;
  system: string;
  messages: readonly Message[];
  tools: readonly ToolDefinition[];
  /** Tools that the provider runs itself. */
  hostedTools?: readonly HostedTool[];
  /** The most tokens of the answer; without it the provider's own limit. */
  maxTokens?: number;
  temperature?: number;
  thinking?: Thinking;
  effort?: Effort;
  format?: Format;
};

/** The usage of an unfinished answer, and its model. */
export type PartialUsage = { model: string; usage: Usage };

/** Where an answer goes while it is streamed. None may throw. */
export type ModelSink = {
  onToken?: (delta: string) => void;
  onThinking?: (delta: string) => void;
  /** Gets the answer's usage so far each time that the service reports it. */
  onUsage?: (partial: PartialUsage) => void;
  /** The head of the service's response, before the answer. */
  onResponse?: (head: ResponseHead) => void;
};

/** The parts of a thread that a call uses: the environment, for keys, and the signal. */
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

/** A model's whole answer to one request. */
export type ModelAnswer = {
  id: string;
  model: string;
  /** To be put into the conversation as the assistant's message. */
  blocks: Block[];
  text: string;
  thinking: string;
  toolUses: ToolUse[];
  /** Tool calls that the provider ran itself. */
  hosted?: HostedCall[];
  stop: Stop;
  finishReason: string;
  /** The provider's explanation of the stop, for example the reason of a refusal. */
  detail?: string;
  usage: Usage;
  /** Whether the service has not counted all of it: `usage` has what it has counted. */
  isUncounted?: true;
  /** The pieces of it that were not understood. */
  unread?: string[];
};

/** Where a call goes, and the secrets that must not stand in a message. */
export type CallTarget = {
  provider: string;
  model: string;
  baseUrl: string;
  secrets: readonly string[];
};

/** A service that answers requests. `name` is its name in messages. */
export type ModelProvider = {
  name: string;
  /** How long what is written to its cache lives there, where that has a price of its own. */
  cacheWrites?: "1h";
  /** How often a call that has failed is made again where a role does not say (2). */
  maxRetries?: number;
  /**
   * Asks once, streaming.
   * @throws ProviderError; when `signal` is aborted its reason, with the connection closed.
   */
  answer: (
    request: ModelRequest,
    sink: ModelSink,
    surroundings: Surroundings,
  ) => Promise<ModelAnswer>;
  /** Where requests to a model go, and with which key, of a service that limits them. */
  target?: (model: string, surroundings: Surroundings) => CallTarget;
  /** Has the service count the most tokens that a request's input has, at no cost, where it can. */
  countInput?: (request: ModelRequest, surroundings: Surroundings) => Promise<number>;
};
