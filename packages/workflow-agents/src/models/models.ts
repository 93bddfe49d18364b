import { type AnthropicAccess, anthropicProvider } from "../anthropic/anthropic.ts";
import type { ModelProvider } from "../llm/provider.ts";
import { type OpenAIAccess, openaiProvider } from "../openai/openai.ts";

/**
 * A provider's models: the name that a document calls the provider by, and which models are its own.
 * `keyVariable` is the variable of the environment that its key is in.
 */
export type Models = {
  name: string;
  provider: ModelProvider;
  serves: (model: string) => boolean;
  keyVariable?: string;
};

/** The models of Anthropic, by the name `anthropic`. The key is `ANTHROPIC_API_KEY` of the thread. */
export const anthropicModels = (access?: AnthropicAccess): Models => ({
  name: "anthropic",
  provider: anthropicProvider(access),
  serves: (model) => /^claude\b/i.test(model),
  keyVariable: "ANTHROPIC_API_KEY",
});

/** The models of OpenAI, or of any server that speaks its protocol, by the name `openai` or another. */
export const openaiModels = ({
  name = "openai",
  ...access
}: OpenAIAccess & { name?: string } = {}): Models => ({
  name,
  provider: openaiProvider(access),
  serves: (model) => !/^claude\b/i.test(model),
  keyVariable: "OPENAI_API_KEY",
});
