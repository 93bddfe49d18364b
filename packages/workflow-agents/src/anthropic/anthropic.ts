import { BaseAnthropic } from "@anthropic-ai/sdk/client";
import { APIConnectionError, APIConnectionTimeoutError } from "@anthropic-ai/sdk/core/error";
import { Messages } from "@anthropic-ai/sdk/resources/messages/messages";
import type { AgentFn } from "@uncaged/workflow";
import { type Access, headersIn, patienceOf, withoutEnv } from "../llm/access.ts";
import { modelAgent, type ModelOptions } from "../llm/agent.ts";
import { firstAsked, inForm } from "../llm/form.ts";
import type { Effort, ModelProvider, Surroundings, Thinking } from "../llm/provider.ts";
import { sendable } from "../llm/sendable.ts";
import { callClient, type StallGuard, streamAnswer } from "../llm/stream.ts";
import { anthropicForms } from "./form.ts";
import { bodyOf, type Cache, countBodyOf, MessageAccumulator } from "./message.ts";
import { noKey } from "../llm/errors.ts";
import { invalidCache } from "./errors.ts";

/**
 * Options of {@link anthropicAgent}. `thinking` and `effort` are sent as given. If they are missing, the model's
 * defaults apply.
 */
export type AnthropicOptions = ModelOptions &
  AnthropicAccess & { thinking?: Thinking; effort?: Exclude<Effort, "none" | "minimal"> };

/**
 * Returns an agent that calls a model of the Anthropic API, with streaming, thinking and tools, until the model ends
 * its turn. `maxTokens` is 32,000 by default.
 *
 *     const coder = anthropicAgent({ model: "claude-opus-5-5", thinking: "adaptive", tools });
 *
 * The key and the address come from the sources that {@link anthropicProvider} names.
 * @throws ProviderError from the running agent.
 */
export function anthropicAgent(options: AnthropicOptions): AgentFn {
  return modelAgent(anthropicProvider(options), { maxTokens: 32_000, ...options });
}

/** Access to the Anthropic API. */
export type AnthropicAccess = Access & {
  /**
   * The time for which the provider caches the start of a conversation for later calls: 5 minutes (`true`, the
   * default), or an hour at a higher price, for roles with more than 5 minutes between their steps. `false` disables
   * the cache.
   */
  cache?: boolean | "5m" | "1h";
};

const provider = "Anthropic";
const classes = { APIConnectionError, APIConnectionTimeoutError };

/**
 * Returns the Anthropic API as a provider. The key is `apiKey`, or `ANTHROPIC_API_KEY` or `ANTHROPIC_AUTH_TOKEN` in the
 * thread's environment. The address is `baseUrl`, or `ANTHROPIC_BASE_URL` in that environment.
 * `ANTHROPIC_CUSTOM_HEADERS` adds headers.
 */
export function anthropicProvider(access: AnthropicAccess = {}): ModelProvider {
  const patience = patienceOf(access);
  const { timeoutMs, maxRetries } = patience;
  const cache = cacheOf(access.cache);
  const prepare = (model: string, { env, signal }: Surroundings) => {
    const credential = credentialOf(access, env);
    const baseURL = access.baseUrl ?? (env.ANTHROPIC_BASE_URL || "https://api.anthropic.com");
    const secrets = Object.values(credential).filter((secret) => secret !== null);
    const defaultHeaders = headersIn(env, "ANTHROPIC_CUSTOM_HEADERS");
    const settings = { logLevel: "off", openTelemetry: false, defaultHeaders } as const;
    const messages = ({ fetch }: StallGuard) => {
      const own = { ...credential, baseURL, maxRetries: 0, timeout: timeoutMs, fetch };
      return new Messages(withoutEnv(() => new BaseAnthropic({ ...settings, ...own })));
    };
    const target = { provider, model, baseUrl: baseURL, secrets, ...patience };
    return { messages, call: { ...target, classes, signal } };
  };
  return {
    name: provider,
    maxRetries,
    target: (model, surroundings) => prepare(model, surroundings).call,
    ...(cache === "1h" && { cacheWrites: cache }),
    async answer(request, sink, surroundings) {
      const { messages, call } = prepare(request.model, surroundings);
      const forms = { ...anthropicForms, key: `${call.baseUrl} ${request.model}` };
      const sent = { ...call, onResponse: sink.onResponse };
      return await inForm(sendable(request, isId), forms, async (asked) => {
        const body = bodyOf(asked, cache);
        return await streamAnswer(sent, new MessageAccumulator(sink), (guard) =>
          messages(guard).create(body, { signal: guard.signal }).asResponse(),
        );
      });
    },
    async countInput(request, surroundings) {
      const { messages, call } = prepare(request.model, surroundings);
      const body = countBodyOf(firstAsked(sendable(request, isId), anthropicForms));
      return await callClient(call, async (guard) => {
        const count = await messages(guard).countTokens(body, { signal: guard.signal });
        if (Number.isSafeInteger(count.input_tokens) && count.input_tokens >= 0) {
          // The API's count is an estimate: a call may use slightly more tokens.
          return Math.ceil(count.input_tokens * 1.01) + 16;
        }
        throw new SyntaxError("no count");
      });
    },
  };
}

const isId = (id: string): boolean => /^[\w-]+$/.test(id);

/** @throws WorkflowError `BAD_CACHE` for a lifetime that the API does not offer. */
function cacheOf(given: AnthropicAccess["cache"] = true): Cache {
  if (given === true || given === "5m") return "5m";
  if (given === false || given === "1h") return given;
  throw invalidCache(given);
}

function credentialOf(
  { apiKey }: AnthropicAccess,
  env: Surroundings["env"],
): { apiKey: string | null; authToken: string | null } {
  const key = (apiKey ?? env.ANTHROPIC_API_KEY)?.trim();
  if (key) return { apiKey: key, authToken: null };
  const token = env.ANTHROPIC_AUTH_TOKEN?.trim();
  if (token) return { apiKey: null, authToken: token };
  throw noKey(provider, "ANTHROPIC_API_KEY");
}
