import type { AgentFn } from "@uncaged/workflow";
import { type ClientOptions, OpenAI } from "openai/client";
import { APIConnectionError, APIConnectionTimeoutError, APIError } from "openai/core/error";
import { type Access, headersIn, noKey, patienceOf, withoutEnv } from "../llm/access.ts";
import { modelAgent, type ModelOptions } from "../llm/agent.ts";
import { hostOf } from "../llm/error.ts";
import { inForm } from "../llm/form.ts";
import type { Effort, ModelProvider, Surroundings } from "../llm/provider.ts";
import { streamAnswer } from "../llm/stream.ts";
import { openaiForms } from "./form.ts";
import { bodyOf, CompletionAccumulator } from "./completion.ts";

export type OpenAIOptions = ModelOptions & Access & { effort?: Effort };

/**
 * An agent that asks a model of OpenAI, or of any server that speaks its chat completions, with the
 * official client: streaming, and with tools until the model ends its turn.
 *
 *     const coder = openaiAgent({ model: "qwen3", baseUrl: "http://127.0.0.1:11434/v1", tools });
 *
 * Key and address are those of {@link openaiProvider}.
 * @throws ProviderError from the running agent.
 */
export function openaiAgent(options: OpenAIOptions): AgentFn {
  return modelAgent(openaiProvider(options), options);
}

const officialUrl = "https://api.openai.com/v1";
const classes = { APIConnectionError, APIConnectionTimeoutError, APIError };

/**
 * OpenAI's chat completions, or those of another server, which may be asked without a key. The key is
 * `apiKey`, or `OPENAI_API_KEY` of the thread's environment, the address `baseUrl` or its
 * `OPENAI_BASE_URL`; `OPENAI_ORG_ID`, `OPENAI_PROJECT_ID` and `OPENAI_CUSTOM_HEADERS` add headers.
 */
export function openaiProvider(access: Access = {}): ModelProvider {
  const patience = patienceOf(access);
  const { timeoutMs, maxRetries } = patience;
  const name = "the OpenAI API";
  const reach = (model: string, env: Surroundings["env"]) => {
    const baseUrl = access.baseUrl ?? (env.OPENAI_BASE_URL || officialUrl);
    const official = hostOf(baseUrl) === hostOf(officialUrl);
    const key = (access.apiKey ?? env.OPENAI_API_KEY)?.trim() || null;
    if (key === null && official) throw noKey("OpenAI", "OPENAI_API_KEY");
    const secrets = key === null ? [] : [key];
    return { official, key, target: { provider: name, model, baseUrl, secrets, ...patience } };
  };
  return {
    name,
    maxRetries,
    target: (model, { env }) => reach(model, env).target,
    async answer(request, sink, { env, signal }) {
      const { official, key, target } = reach(request.model, env);
      const headers = headersIn(env, "OPENAI_CUSTOM_HEADERS");
      const settings: ClientOptions = {
        ...{ maxRetries: 0, timeout: timeoutMs, logLevel: "off" },
        apiKey: key ?? "none",
        baseURL: target.baseUrl,
        organization: env.OPENAI_ORG_ID || null,
        project: env.OPENAI_PROJECT_ID || null,
        defaultHeaders: { ...(key === null && { Authorization: null }), ...headers },
      };
      const call = { ...target, classes, signal, onResponse: sink.onResponse };
      const forms = { ...openaiForms(official), key: `${target.baseUrl} ${request.model}` };
      return await inForm(request, forms, async (asked) => {
        const body = bodyOf(asked, official);
        return await streamAnswer(call, new CompletionAccumulator(sink), (guard) => {
          const client = withoutEnv(() => new OpenAI({ ...settings, fetch: guard.fetch }));
          return client.chat.completions.create(body, { signal: guard.signal });
        });
      });
    },
  };
}
