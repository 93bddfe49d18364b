import type { LanguageModel } from "ai";
import type { Usage } from "@uncaged/workflow";
import { noUsage } from "@uncaged/workflow/interpreter";
import { isObject } from "../run/error.ts";
import { publish } from "../run/run.ts";

/** A model of the current version of the AI SDK's specification. */
export type Model = Extract<LanguageModel, { specificationVersion: "v4" }>;
export type CallOptions = Parameters<Model["doGenerate"]>[0];
export type Generated = Awaited<ReturnType<Model["doGenerate"]>>;
export type Streamed = Awaited<ReturnType<Model["doStream"]>>;
export type StreamPart = Streamed["stream"] extends ReadableStream<infer Part> ? Part : never;

type Finish = Pick<Generated, "finishReason" | "usage">;

/** Returns a call's usage, or null if the provider did not report it. Reads the format of older specifications, too. */
export function usageOf({ usage }: Pick<Finish, "usage">): Usage | null {
  const { inputTokens: input, outputTokens: output } = usage as {
    [Name in "inputTokens" | "outputTokens"]?: unknown;
  };
  if (typeof input === "number" || typeof output === "number") return flatUsageOf(usage);
  const [given, made] = [isObject(input) ? input : {}, isObject(output) ? output : {}];
  const [cacheRead, cacheWrite] = [count(given.cacheRead), count(given.cacheWrite)];
  const isCounted = typeof given.total === "number" && typeof made.total === "number";
  if (!isCounted) return null;
  return {
    ...noUsage,
    input_tokens:
      typeof given.noCache === "number"
        ? given.noCache
        : Math.max(0, count(given.total) - cacheRead - cacheWrite),
    output_tokens: count(made.total),
    thinking_tokens: count(made.reasoning),
    cache_read_tokens: cacheRead,
    cache_write_tokens: cacheWrite,
  };
}

/**
 * Returns the usage that Anthropic reports at the start of an answer, or null for any other chunk. Other providers
 * report usage only at the end.
 */
export function usageInChunk(chunk: unknown): Usage | null {
  const message = isObject(chunk) && chunk.type === "message_start" ? chunk.message : null;
  const usage = isObject(message) ? message.usage : null;
  if (!isObject(usage)) return null;
  return {
    ...noUsage,
    input_tokens: count(usage.input_tokens),
    output_tokens: count(usage.output_tokens),
    cache_read_tokens: count(usage.cache_read_input_tokens),
    cache_write_tokens: count(usage.cache_creation_input_tokens),
  };
}

/** Reads the usage of the specification's version 2. */
function flatUsageOf(usage: object): Usage {
  const { inputTokens, outputTokens, reasoningTokens, cachedInputTokens } = usage as Record<
    string,
    unknown
  >;
  const cached = count(cachedInputTokens);
  return {
    ...noUsage,
    input_tokens: Math.max(0, count(inputTokens) - cached),
    output_tokens: count(outputTokens),
    thinking_tokens: count(reasoningTokens),
    cache_read_tokens: cached,
  };
}

const count = (value: unknown): number =>
  typeof value === "number" && Number.isFinite(value) ? Math.max(0, value) : 0;

/** Returns the reason why an answer ended. In older specifications, the reason is a string. */
export const reasonOf = ({ finishReason }: Pick<Finish, "finishReason">): string =>
  typeof finishReason === "string" ? finishReason : finishReason.unified;

/** Returns whether an answer is complete, and not a failure. */
export const isWhole = (finish: Pick<Finish, "finishReason">): boolean =>
  reasonOf(finish) !== "error" && reasonOf(finish) !== "interrupted";

/** Returns whether a part of an answer is a tool call that the program runs instead of the provider. */
export const isOwnCall = (piece: { type: string; providerExecuted?: boolean }): boolean =>
  piece.type === "tool-call" && !piece.providerExecuted;

/** Publishes a part of an answer as an event. */
export function report(piece: Generated["content"][number] | StreamPart): void {
  switch (piece.type) {
    case "text":
      return publish("llm_token", { delta: piece.text });
    case "reasoning":
      return publish("llm_thinking", { delta: piece.text });
    case "text-delta":
      return publish("llm_token", { delta: piece.delta });
    case "reasoning-delta":
      return publish("llm_thinking", { delta: piece.delta });
    case "tool-call": {
      const { toolCallId, toolName, input } = piece;
      return publish("llm_tool_use", {
        tool_use_id: toolCallId,
        name: toolName,
        input: parsed(input),
      });
    }
    case "tool-result": {
      const { toolCallId, result, isError } = piece;
      const content = typeof result === "string" ? result : JSON.stringify(result);
      return publish("llm_tool_result", { tool_use_id: toolCallId, content, is_error: isError });
    }
    default:
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const notConnected =
  /ECONNREFUSED|ConnectionRefused|ENOTFOUND|EAI_AGAIN|FailedToOpenSocket|EHOSTUNREACH/;

/** Returns whether a failed call cost nothing, because the provider declined the call or was unreachable. */
export function isFree(error: unknown): boolean {
  if (!isObject(error)) return false;
  const { statusCode: status, cause } = error;
  if (typeof status === "number") {
    return (status >= 400 && status < 500 && status !== 408) || status === 503 || status === 529;
  }
  const code = isObject(cause) ? `${String(cause.code)} ${String(cause.message)}` : "";
  return notConnected.test(code);
}
