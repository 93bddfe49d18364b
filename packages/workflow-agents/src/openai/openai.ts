import type { AgentFn } from "@uncaged/workflow";
import { modelAgent, type ModelOptions } from "../llm/agent.ts";
import type { Effort } from "../llm/provider.ts";
import type { Access } from "../llm/stream.ts";
import { openaiProvider } from "./provider.ts";

/** What an OpenAI agent can be told. */
export type OpenAIOptions = ModelOptions & Access & { effort?: Effort };

/**
 * An agent that asks a model of OpenAI, or of any server that speaks its chat completions, with the
 * official client: streaming, with reasoning where it is given, and with tools until the model ends.
 *
 *     const coder = openaiAgent({ model: "qwen3", baseUrl: "http://127.0.0.1:11434/v1", tools });
 *
 * The key is `apiKey`, or `OPENAI_API_KEY` of the thread's environment; the address `baseUrl`, or its
 * `OPENAI_BASE_URL`. A server other than OpenAI's own may be asked without a key.
 * @throws LLMError from the running agent.
 */
export function openaiAgent(options: OpenAIOptions): AgentFn {
  return modelAgent(openaiProvider(options), options);
}
