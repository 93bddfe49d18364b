import type { AgentFn, ThreadContext } from "@uncaged/workflow";
import { anthropicAgent, anthropicProvider } from "../src/anthropic/anthropic.ts";
import type { Access } from "../src/llm/access.ts";
import type { ModelOptions } from "../src/llm/agent.ts";
import type { ModelProvider } from "../src/llm/provider.ts";
import { openaiAgent, openaiProvider } from "../src/openai/openai.ts";
import { anthropicServer } from "./anthropic-server.ts";
import { openaiServer } from "./openai-server.ts";
import { responsesServer } from "./responses-server.ts";
import { threadOf } from "./published.ts";
import type { Reply, WireServer } from "./wire.ts";

type Options = Partial<ModelOptions & Access>;
type Served = WireServer<{ model: string }>;

/** A provider's agent and test server. Test suites run once for each model. */
export type Model = {
  name: string;
  serve: (replies: Reply[]) => Promise<Served>;
  agent: (options?: Options) => AgentFn;
  provider: (access?: Access) => ModelProvider;
  env: (server: { url: string; key: string }) => Record<string, string>;
};

const model = "claude-opus-5-5";

export const models: Model[] = [
  {
    name: "anthropic",
    serve: anthropicServer,
    agent: (options) => anthropicAgent({ model, ...options }),
    provider: anthropicProvider,
    env: ({ url, key }) => ({ ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: url }),
  },
  {
    name: "openai",
    serve: openaiServer,
    agent: (options) => openaiAgent({ model, ...options }),
    provider: openaiProvider,
    env: ({ url, key }) => ({ OPENAI_API_KEY: key, OPENAI_BASE_URL: url }),
  },
];

/** OpenAI's Responses API, for suites that test its own features. */
const responses: Model = {
  name: "responses",
  serve: responsesServer,
  agent: (options) => openaiAgent({ model, api: "responses", ...options }),
  provider: (access) => openaiProvider({ api: "responses", ...access }),
  env: ({ url, key }) => ({ OPENAI_API_KEY: key, OPENAI_BASE_URL: url }),
};

export const allModels: Model[] = [...models, responses];

/** Returns a thread context whose environment points to a server. */
export const threadAt = (
  one: Model,
  server: { url: string; key: string },
  more: Partial<ThreadContext> = {},
): ThreadContext => threadOf({ env: one.env(server), ...more });
