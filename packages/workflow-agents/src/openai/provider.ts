import { type ClientOptions, OpenAI } from "openai/client";
import { made } from "../llm/client.ts";
import { LLMError } from "../llm/error.ts";
import { hostOf } from "../llm/fault.ts";
import { headersIn } from "../llm/headers.ts";
import type { LLMProvider } from "../llm/provider.ts";
import { type Access, answered, patienceOf } from "../llm/stream.ts";
import type { Watch } from "../llm/watch.ts";
import { ArrivingCompletion } from "./arriving.ts";
import { faultOf } from "./fault.ts";
import { bodyOf } from "./request.ts";

const officialUrl = "https://api.openai.com/v1";

/**
 * OpenAI's chat completions, or those of another server, as a provider. The key is `apiKey`, or
 * `OPENAI_API_KEY` of the environment that a request comes with; `OPENAI_ORG_ID`, `OPENAI_PROJECT_ID` and
 * `OPENAI_CUSTOM_HEADERS` add headers.
 */
export function openaiProvider(access: Access = {}): LLMProvider {
  const patience = patienceOf(access);
  const { timeoutMs, maxRetries } = patience;
  const name = "the OpenAI API";
  return {
    name,
    async answer(request, sink, { env, signal }) {
      const baseUrl = access.baseUrl ?? (env.OPENAI_BASE_URL || officialUrl);
      const official = hostOf(baseUrl) === hostOf(officialUrl);
      const key = (access.apiKey ?? env.OPENAI_API_KEY)?.trim() || null;
      if (key === null && official) throw noKey();
      const secrets = key === null ? [] : [key];
      const asked = { provider: name, model: request.model, baseUrl, secrets, timeoutMs };
      const organization = env.OPENAI_ORG_ID || null;
      const project = env.OPENAI_PROJECT_ID || null;
      const headers = headersIn(env, "OPENAI_CUSTOM_HEADERS");
      const open = ({ fetch, signal: watched }: Watch) => {
        const settings: ClientOptions = {
          apiKey: key ?? "none",
          baseURL: baseUrl,
          maxRetries,
          timeout: timeoutMs,
          fetch,
          organization,
          project,
          logLevel: "off",
          defaultHeaders: { ...(key === null && { Authorization: null }), ...headers },
        };
        const client = made(() => new OpenAI(settings));
        return client.chat.completions.create(bodyOf(request, official), { signal: watched });
      };
      const arriving = new ArrivingCompletion(sink);
      return await answered({ open, faultOf }, arriving, { asked, patience, signal });
    },
  };
}

const noKey = () =>
  new LLMError("LLM_NO_KEY", "there is no key for OpenAI", {
    hint: "set OPENAI_API_KEY in the environment that starts the thread, or give the agent apiKey",
  });
