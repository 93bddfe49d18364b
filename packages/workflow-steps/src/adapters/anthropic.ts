import { type AnthropicAccess, anthropicProvider } from "@uncaged/workflow-agents";
import type { Models } from "./model.ts";

/** The models of Anthropic, by the name `anthropic`. The key is `ANTHROPIC_API_KEY` of the thread. */
export const anthropicModels = (access?: AnthropicAccess): Models => ({
  name: "anthropic",
  provider: anthropicProvider(access),
  serves: (model) => /^claude\b/i.test(model),
});
