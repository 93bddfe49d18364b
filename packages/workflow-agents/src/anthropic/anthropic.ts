import type { AgentFn } from "@uncaged/workflow";
import { modelAgent, type ModelOptions } from "../llm/agent.ts";
import type { Effort, Thinking } from "../llm/provider.ts";
import { type AnthropicAccess, anthropicProvider } from "./provider.ts";

/** What an Anthropic agent can be told. */
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
 * @throws LLMError from the running agent.
 */
export function anthropicAgent(options: AnthropicOptions): AgentFn {
  return modelAgent(anthropicProvider(options), { maxTokens, ...options });
}
