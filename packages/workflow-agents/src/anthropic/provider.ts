import { BaseAnthropic } from "@anthropic-ai/sdk/client";
import { Messages } from "@anthropic-ai/sdk/resources/messages/messages";
import { made } from "../llm/client.ts";
import { LLMError } from "../llm/error.ts";
import { headersIn } from "../llm/headers.ts";
import type { LLMProvider, LLMRequest, Surroundings } from "../llm/provider.ts";
import { type Access, answered, patienceOf } from "../llm/stream.ts";
import type { Watch } from "../llm/watch.ts";
import { ArrivingMessage } from "./arriving.ts";
import { ArrivingCount } from "./count.ts";
import { faultOf } from "./fault.ts";
import { bodyOf, countBodyOf } from "./request.ts";

/** How the Anthropic API is reached. */
export type AnthropicAccess = Access & {
  /** Whether the provider keeps the conversation's beginning for 5 minutes, for later calls (true). */
  cache?: boolean;
};

const officialUrl = "https://api.anthropic.com";
const provider = "Anthropic";

/**
 * The Anthropic API as a provider. The key is `apiKey`, or `ANTHROPIC_API_KEY` or
 * `ANTHROPIC_AUTH_TOKEN` of the environment that a request comes with; `ANTHROPIC_CUSTOM_HEADERS` adds
 * headers.
 */
export function anthropicProvider(access: AnthropicAccess = {}): LLMProvider {
  const patience = patienceOf(access);
  const { timeoutMs, maxRetries } = patience;
  const reach = ({ model }: LLMRequest, { env, signal }: Surroundings) => {
    const credential = credentialOf(access, env);
    const baseURL = access.baseUrl ?? (env.ANTHROPIC_BASE_URL || officialUrl);
    const secrets = Object.values(credential).filter((secret) => secret !== null);
    const defaultHeaders = headersIn(env, "ANTHROPIC_CUSTOM_HEADERS");
    const asked = { provider, model, baseUrl: baseURL, secrets, timeoutMs };
    const settings = { logLevel: "off", openTelemetry: false, defaultHeaders } as const;
    const messages = ({ fetch }: Watch) => {
      const timeout = timeoutMs;
      const own = { ...settings, ...credential, baseURL, maxRetries, timeout, fetch };
      return new Messages(made(() => new BaseAnthropic(own)));
    };
    return { messages, within: { asked, patience, signal } };
  };
  return {
    name: provider,
    async answer(request, sink, around) {
      const { messages, within } = reach(request, around);
      const body = bodyOf(request, access.cache ?? true);
      const open = (watch: Watch) => messages(watch).create(body, { signal: watch.signal });
      return await answered({ open, faultOf }, new ArrivingMessage(sink), within);
    },
    async countInput(request, around) {
      const { messages, within } = reach(request, around);
      const body = countBodyOf(request);
      const open = async (watch: Watch) => [
        await messages(watch).countTokens(body, { signal: watch.signal }),
      ];
      return await answered({ open, faultOf }, new ArrivingCount(), within);
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
  throw new LLMError("LLM_NO_KEY", "there is no key for Anthropic", {
    hint: "set ANTHROPIC_API_KEY in the environment that starts the thread, or give the agent apiKey",
  });
}
