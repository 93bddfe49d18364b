import type { ToolDefinition, ToolRunner } from "../tools/tools.ts";
import { converse, type Conversed, type ModelCallbacks } from "./converse.ts";
import { ProviderError } from "./error.ts";
import type { Format, Message, ModelProvider, ModelRequest, ToolUse } from "./provider.ts";

/** One call of a model, as the step workflows make it. */
export type ModelParams = {
  /** `claude-opus-5-5` when not given. */
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
  /** With them a call goes on until the model ends its turn; without, it ends with the tool calls. */
  tools?: ToolRunner;
  maxTurns?: number;
};

/**
 * A client of a provider's models.
 *
 *     const llm = modelClient(anthropicProvider(), { env: options.env, signal: options.signal });
 *     const { content } = await llm.call({ messages: [{ role: "user", content: "Hello" }] });
 *
 * @throws ProviderError from `call`; the signal's reason when it is aborted.
 */
export function modelClient(provider: ModelProvider, options: ModelClientOptions): ModelClient {
  const { env, signal = new AbortController().signal, cwd = "/", tools, maxTurns } = options;
  const context = { env, cwd, signal };
  const toolbox = tools && { runner: tools, context };
  return {
    async call(params, onToken, callbacks = {}) {
      const own = tools ? await tools.definitions(context) : [];
      const request = requestOf(params, [...own, ...(params.tools ?? [])]);
      const streamed = { ...callbacks, onToken: callbacks.onToken ?? onToken };
      const quiet = { ...callbacks, onToken: undefined, onThinking: undefined };
      return resultOf(
        await converse(provider, request, {
          ...{ env, signal, maxTurns, toolbox },
          callbacks: params.stream === false ? quiet : streamed,
        }),
        request,
      );
    },
  };
}

function requestOf(params: ModelParams, tools: ToolDefinition[]): ModelRequest {
  const { system = "", messages, max_tokens, temperature, thinking, output_config } = params;
  return {
    ...{ system, messages, tools, temperature },
    model: params.model ?? "claude-opus-5-5",
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
  { id, model, text, thinking, toolUses, finishReason, usage }: Conversed,
  { format }: ModelRequest,
): ModelResult {
  const { input_tokens, cache_read_tokens, cache_write_tokens, ...other } = usage;
  const uses = toolUses.map((use) => ({ id: use.id, name: use.name, input: use.input }));
  return {
    content: format && uses.length === 0 ? objectOf(text) : text,
    ...{ model, id, finish_reason: finishReason, stop_reason: finishReason },
    usage: {
      input_tokens: input_tokens + cache_read_tokens + cache_write_tokens,
      ...other,
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
