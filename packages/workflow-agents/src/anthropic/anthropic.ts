import { BaseAnthropic } from "@anthropic-ai/sdk/client";
import {
  APIConnectionError,
  APIConnectionTimeoutError,
  APIError,
} from "@anthropic-ai/sdk/core/error";
import { Messages, type MessageTokensCount } from "@anthropic-ai/sdk/resources/messages/messages";
import type { AgentFn } from "@uncaged/workflow";
import { type Access, headersIn, patienceOf, withoutEnv } from "../llm/access.ts";
import { modelAgent, type ModelOptions } from "../llm/agent.ts";
import { type ClientError, ProviderError, reasonOf } from "../llm/error.ts";
import type {
  Effort,
  ModelProvider,
  ModelRequest,
  Surroundings,
  Thinking,
} from "../llm/provider.ts";
import { type Accumulator, type StallGuard, streamAnswer } from "../llm/stream.ts";
import { MessageAccumulator } from "./message.ts";
import { bodyOf, countBodyOf } from "./message.ts";

/** The options of an Anthropic agent. */
export type AnthropicOptions = ModelOptions &
  AnthropicAccess & { thinking?: Thinking; effort?: Exclude<Effort, "none" | "minimal"> };

const maxTokens = 32_000;

/**
 * An agent that asks a model of the Anthropic API with the official SDK: streaming, with thinking, and
 * with tools until the model ends its turn.
 *
 *     const coder = anthropicAgent({ model: "claude-opus-5-5", thinking: "adaptive", tools });
 *
 * The key is `apiKey`, or `ANTHROPIC_API_KEY` or `ANTHROPIC_AUTH_TOKEN` of the thread's environment;
 * the address `baseUrl`, or its `ANTHROPIC_BASE_URL`. `maxTokens` is 32,000 when not given.
 * @throws ProviderError from the running agent.
 */
export function anthropicAgent(options: AnthropicOptions): AgentFn {
  return modelAgent(anthropicProvider(options), { maxTokens, ...options });
}

/** How the Anthropic API is reached. */
export type AnthropicAccess = Access & {
  /** Whether the provider caches the start of the conversation for 5 minutes, for later calls (true). */
  cache?: boolean;
};

const officialUrl = "https://api.anthropic.com";
const provider = "Anthropic";

/**
 * The Anthropic API as a provider. The key is `apiKey`, or `ANTHROPIC_API_KEY` or
 * `ANTHROPIC_AUTH_TOKEN` of the environment that a request comes with; `ANTHROPIC_CUSTOM_HEADERS` adds
 * headers.
 */
export function anthropicProvider(access: AnthropicAccess = {}): ModelProvider {
  const patience = patienceOf(access);
  const { timeoutMs, maxRetries } = patience;
  const prepare = ({ model }: ModelRequest, { env, signal }: Surroundings) => {
    const credential = credentialOf(access, env);
    const baseURL = access.baseUrl ?? (env.ANTHROPIC_BASE_URL || officialUrl);
    const secrets = Object.values(credential).filter((secret) => secret !== null);
    const defaultHeaders = headersIn(env, "ANTHROPIC_CUSTOM_HEADERS");
    const target = { provider, model, baseUrl: baseURL, secrets, timeoutMs };
    const settings = { logLevel: "off", openTelemetry: false, defaultHeaders } as const;
    const messages = ({ fetch }: StallGuard) => {
      const timeout = timeoutMs;
      const own = { ...settings, ...credential, baseURL, maxRetries, timeout, fetch };
      return new Messages(withoutEnv(() => new BaseAnthropic(own)));
    };
    return { messages, call: { clientErrorOf, target, patience, signal } };
  };
  return {
    name: provider,
    async answer(request, sink, surroundings) {
      const { messages, call } = prepare(request, surroundings);
      const body = bodyOf(request, access.cache ?? true);
      const open = (guard: StallGuard) => messages(guard).create(body, { signal: guard.signal });
      return await streamAnswer({ ...call, open }, new MessageAccumulator(sink));
    },
    async countInput(request, surroundings) {
      const { messages, call } = prepare(request, surroundings);
      const body = countBodyOf(request);
      const open = async (guard: StallGuard) => [
        await messages(guard).countTokens(body, { signal: guard.signal }),
      ];
      return await streamAnswer({ ...call, open }, new CountAccumulator());
    },
  };
}

function credentialOf(
  { apiKey }: AnthropicAccess,
  env: Readonly<Record<string, string>>,
): { apiKey: string | null; authToken: string | null } {
  const key = (apiKey ?? env.ANTHROPIC_API_KEY)?.trim();
  if (key) return { apiKey: key, authToken: null };
  const token = env.ANTHROPIC_AUTH_TOKEN?.trim();
  if (token) return { apiKey: null, authToken: token };
  throw new ProviderError("LLM_NO_KEY", "there is no key for Anthropic", {
    hint: "set ANTHROPIC_API_KEY in the environment that starts the thread, or give the agent apiKey",
  });
}

// The API calls its count an estimate: a call may have slightly more.
const inexact = 0.01;
const few = 16;

/** The API's count of a request's input, with what the call may have more than it. */
class CountAccumulator implements Accumulator<MessageTokensCount, number> {
  readonly partial = null;
  readonly size = 0;
  #most: number | null = null;

  add({ input_tokens }: MessageTokensCount): void {
    if (!Number.isSafeInteger(input_tokens) || input_tokens < 0) throw new TypeError("no count");
    this.#most = Math.ceil(input_tokens * (1 + inexact)) + few;
  }

  answer(): number | null {
    return this.#most;
  }
}

/** What the Anthropic client threw, null when it is none of its errors. */
function clientErrorOf(error: unknown): ClientError | null {
  if (error instanceof APIConnectionTimeoutError) return { kind: "timeout" };
  if (error instanceof APIConnectionError) {
    return { kind: "connection", reason: reasonOf(error.cause ?? error) };
  }
  if (error instanceof APIError) {
    const { status = 0, type, apiMessage, message } = error;
    return { kind: "http", status, word: type ?? "", message: apiMessage ?? message };
  }
  return error instanceof SyntaxError ? { kind: "json" } : null;
}
