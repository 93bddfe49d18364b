import type { ToolDefinition, ToolRunner } from "../tools/tools.ts";
import { converse } from "./converse.ts";
import { ProviderError } from "./error.ts";
import type {
  Format,
  Message,
  ModelAnswer,
  ModelProvider,
  ModelRequest,
  ToolResult,
  ToolUse,
} from "./provider.ts";

/** One call of a model, as the step workflows make it. */
export type ModelParams = {
  /** The client's own model when not given. */
  model?: string;
  system?: string;
  messages: Message[];
  /** `false` keeps the callbacks of the streamed answer quiet. The model is always asked for a stream. */
  stream?: boolean;
  tools?: ToolDefinition[];
  output_config?: { type: "json_object" | "json_schema"; schema?: object };
  max_tokens?: number;
  temperature?: number;
  thinking?: { type: "enabled"; budget_tokens: number } | { type: "adaptive" | "disabled" };
};

/** The result of a call. `content` is an object when `output_config` asked for one. */
export type ModelResult = {
  content: string | object;
  model: string;
  id?: string;
  finish_reason?: string;
  stop_reason?: string;
  /** `input_tokens` are all of the request's, those of the provider's cache included. */
  usage: { input_tokens: number; output_tokens: number; thinking_tokens?: number };
  tool_calls?: ToolUse[];
  tool_use?: ToolUse[];
  thinking?: string;
};

/** Called while a call goes on; each may be left out. */
export type ModelCallbacks = {
  onToken?: (delta: string) => void;
  onThinking?: (delta: string) => void;
  onToolUse?: (toolUse: ToolUse) => void;
  onToolResult?: (toolResult: ToolResult) => void;
};

/** Calls a model as a step of a workflow does. */
export type ModelClient = {
  call: (
    params: ModelParams,
    onToken?: (delta: string) => void,
    callbacks?: ModelCallbacks,
  ) => Promise<ModelResult>;
};

/** A thread's surroundings, and the tools that are run automatically. */
export type ModelClientOptions = {
  env: Readonly<Record<string, string>>;
  signal?: AbortSignal;
  cwd?: string;
  /** `claude-opus-5-5` when not given. */
  model?: string;
  /** With them a call goes on until the model ends its turn; without, it ends with the tool calls. */
  tools?: ToolRunner;
  maxTurns?: number;
};

const defaultModel = "claude-opus-5-5";

/**
 * A client of a provider's models.
 *
 *     const llm = modelClient(anthropicProvider(), { env: options.env, signal: options.signal });
 *     const { content } = await llm.call({ messages: [{ role: "user", content: "Hello" }] });
 *
 * @throws ProviderError from `call`; the signal's reason when it is aborted.
 */
export function modelClient(provider: ModelProvider, options: ModelClientOptions): ModelClient {
  const { env, signal, cwd = "/", tools, maxTurns = 50 } = options;
  const context = { env, cwd, signal: signal ?? new AbortController().signal };
  return {
    async call(params, onToken, callbacks = {}) {
      const own = tools ? await tools.definitions(context) : [];
      const request = requestOf(params, [...own, ...(params.tools ?? [])], options);
      const isQuiet = params.stream === false;
      const all: ModelAnswer[] = [];
      const observer = {
        onToken: (isQuiet ? null : (callbacks.onToken ?? onToken)) ?? ignore,
        onThinking: (isQuiet ? null : callbacks.onThinking) ?? ignore,
        onToolUse: callbacks.onToolUse ?? ignore,
        onToolResult: callbacks.onToolResult ?? ignore,
        onAnswer: (answer: ModelAnswer) => void all.push(answer),
      };
      const toolbox = tools && { runner: tools, context };
      const bounds = { maxTurns, allowTruncated: false, toolbox };
      const { answer, text } = await converse(provider, request, { env, signal }, observer, bounds);
      return resultOf(answer, text, all, request);
    },
  };
}

const ignore = () => undefined;

function requestOf(
  params: ModelParams,
  tools: ToolDefinition[],
  { model = defaultModel }: ModelClientOptions,
): ModelRequest {
  const { system = "", messages, max_tokens, temperature, thinking, output_config } = params;
  return {
    ...{ system, messages, tools, temperature },
    model: params.model ?? model,
    maxTokens: max_tokens,
    thinking:
      thinking?.type === "enabled" ? { budgetTokens: thinking.budget_tokens } : thinking?.type,
    format: output_config && formatOf(output_config),
  };
}

function formatOf({ type, schema }: NonNullable<ModelParams["output_config"]>): Format {
  if (type === "json_object") return { type };
  if (schema) return { type, schema };
  throw new ProviderError("LLM_BAD_REQUEST", "output_config asks for a json_schema without schema");
}

function resultOf(
  answer: ModelAnswer,
  text: string,
  all: readonly ModelAnswer[],
  { format }: ModelRequest,
): ModelResult {
  const sum = (of: (answer: ModelAnswer) => number) => all.reduce((so, one) => so + of(one), 0);
  const thinking = all.map((one) => one.thinking).join("");
  const uses = answer.toolUses.map(({ id, name, input }) => ({ id, name, input }));
  return {
    content: format && uses.length === 0 ? objectOf(text) : text,
    model: answer.model,
    id: answer.id,
    finish_reason: answer.finishReason,
    stop_reason: answer.finishReason,
    usage: {
      input_tokens: sum(({ usage: { input_tokens, cache_read_tokens, cache_write_tokens } }) => {
        return input_tokens + cache_read_tokens + cache_write_tokens;
      }),
      output_tokens: sum(({ usage }) => usage.output_tokens),
      thinking_tokens: sum(({ usage }) => usage.thinking_tokens),
    },
    ...(uses.length > 0 && { tool_calls: uses, tool_use: uses }),
    ...(thinking && { thinking }),
  };
}

const fence = /^\s*```(?:json)?\s*\n([\s\S]*?)\n?```\s*$/;

/** The object that a text is; models put it into a fence now and then. */
function objectOf(text: string): object {
  try {
    const value: unknown = JSON.parse(fence.exec(text)?.[1] ?? text);
    if (typeof value === "object" && value !== null) return value;
  } catch {
    // Thrown below, as for a text that is JSON but no object.
  }
  throw new ProviderError("LLM_BAD_OUTPUT", `the answer is no JSON object: ${text.slice(0, 200)}`);
}
