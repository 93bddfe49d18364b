import type { AgentFn } from "@uncaged/workflow";
import { type ClientOptions, OpenAI } from "openai/client";
import { APIConnectionError, APIConnectionTimeoutError } from "openai/core/error";
import { type Access, headersIn, patienceOf, withoutEnv } from "../llm/access.ts";
import { modelAgent, type ModelOptions } from "../llm/agent.ts";
import { hostOf, ProviderError } from "../llm/error.ts";
import { inForm } from "../llm/form.ts";
import type { Effort, ModelAnswer, ModelProvider, Surroundings } from "../llm/provider.ts";
import { sendable } from "../llm/sendable.ts";
import { type StallGuard, streamAnswer } from "../llm/stream.ts";
import { openaiForms } from "./form.ts";
import { bodyOf, CompletionAccumulator } from "./completion.ts";
import * as responses from "./responses.ts";
import { noKey } from "../llm/errors.ts";

/** Options of {@link openaiAgent}. `effort` is the reasoning effort. If it is missing, the model's default applies. */
export type OpenAIOptions = ModelOptions &
  OpenAIAccess & { effort?: Effort; thinking?: "adaptive" | "disabled" };

/** Access to OpenAI or another server with its API. */
export type OpenAIAccess = Access & {
  /** The protocol: `chat` completions (the default), which other servers support too, or `responses`. */
  api?: "chat" | "responses";
};

/**
 * Returns an agent that calls a model of OpenAI, or of any server with its chat completions or Responses API, with
 * streaming and tools, until the model ends its turn.
 *
 *     const coder = openaiAgent({ model: "qwen3", baseUrl: "http://127.0.0.1:11434/v1", tools });
 *
 * The key and the address come from the sources that {@link openaiProvider} names.
 * @throws ProviderError from the running agent.
 */
export function openaiAgent(options: OpenAIOptions): AgentFn {
  return modelAgent(openaiProvider(options), options);
}

const officialUrl = "https://api.openai.com/v1";
const classes = { APIConnectionError, APIConnectionTimeoutError };

/**
 * Returns OpenAI's chat completions or Responses API as a provider, or the same API of another server, which may not
 * need a key. The key is `apiKey`, or `OPENAI_API_KEY` in the thread's environment. The address is `baseUrl`, or
 * `OPENAI_BASE_URL` in that environment. `OPENAI_ORG_ID`, `OPENAI_PROJECT_ID` and `OPENAI_CUSTOM_HEADERS` add headers.
 */
export function openaiProvider(access: OpenAIAccess = {}): ModelProvider {
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
      const clientOf = ({ fetch }: StallGuard) =>
        withoutEnv(() => new OpenAI({ ...settings, fetch }));
      const isChat = access.api !== "responses";
      return await inForm(sendable(request, isChat ? isChatId : isItemId), forms, (asked) =>
        withoutRefused(forms.key, isChat ? chatWords : responseWords, async (refused) => {
          const accumulator = isChat
            ? new CompletionAccumulator(sink)
            : new responses.ResponseAccumulator(sink);
          return await streamAnswer(call, accumulator, (guard) => {
            const { chat, responses: api } = clientOf(guard);
            const options = { signal: guard.signal };
            return isChat
              ? chat.completions.create(bodyOf(asked, official, refused), options).asResponse()
              : api.create(responses.bodyOf(asked, !refused.has("include")), options).asResponse();
          });
        }),
      );
    },
  };
}

// A server's own ids may have any form: some contain state that the server needs to continue.
const isChatId = (id: string): boolean => id !== "";
const isItemId = (id: string): boolean => id !== "" && id.length <= 64;

/** Features that a server or model may not support, with the wording of its refusal. */
type Refusals = Readonly<Record<string, RegExp>>;

// Only OpenAI's newest models refuse `max_tokens`, even behind other hosts.
const chatWords: Refusals = {
  max_tokens: /max_completion_tokens/i,
  stream_options: /stream_options/i,
  // Some servers refuse their model's thinking in a request.
  reasoning_content: /reasoning_content/i,
  reasoning_details: /reasoning.details|thought.?signature/i,
  descriptions: /function\.description.*string too long/i,
};
// Models without reasoning refuse to encrypt it.
const responseWords: Refusals = { include: /encrypted.content/i };

// Keys consist of server, model and feature. A refused request costs nothing.
const known = new Set<string>();

/** Sends a request without the features that the server refused before, and again without newly refused features. */
async function withoutRefused(
  key: string,
  words: Refusals,
  call: (refused: ReadonlySet<string>) => Promise<ModelAnswer>,
): Promise<ModelAnswer> {
  for (;;) {
    const refused = new Set(Object.keys(words).filter((word) => known.has(`${key} ${word}`)));
    try {
      return await call(refused);
    } catch (error) {
      const isRefused = error instanceof ProviderError && error.isFree;
      const word = Object.keys(words).find(
        (one) => isRefused && !refused.has(one) && words[one]?.test(error.message),
      );
      if (word === undefined) throw error;
      known.add(`${key} ${word}`);
    }
  }
}
