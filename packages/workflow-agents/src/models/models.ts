import { type AnthropicAccess, anthropicProvider } from "../anthropic/anthropic.ts";
import type { ModelProvider } from "../llm/provider.ts";
import { type OpenAIAccess, openaiProvider } from "../openai/openai.ts";

/**
 * A provider for step documents: the provider's name in documents, and its models. `keyVariable` is the environment
 * variable with the provider's key.
 */
export type Models = {
  name: string;
  provider: ModelProvider;
  serves: (model: string) => boolean;
  keyVariable?: string;
};

/**
 * Returns the models of Anthropic, under the name `anthropic`. The key is `ANTHROPIC_API_KEY` in the thread's
 * environment.
 */
export const anthropicModels = (access?: AnthropicAccess): Models => ({
  name: "anthropic",
  provider: anthropicProvider(access),
  serves: (model) => /^claude\b/i.test(model),
  keyVariable: "ANTHROPIC_API_KEY",
});

/** Returns the models of OpenAI, or of any server with its protocol, under the name `openai` or a given name. */
export const openaiModels = ({
  name = "openai",
  ...access
}: OpenAIAccess & { name?: string } = {}): Models => ({
  name,
  provider: openaiProvider(access),
  serves: (model) => !/^claude\b/i.test(model),
  keyVariable: "OPENAI_API_KEY",
});
