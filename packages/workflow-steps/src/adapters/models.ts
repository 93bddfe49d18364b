import {
  type Access,
  type AnthropicAccess,
  anthropicProvider,
  openaiProvider,
} from "@uncaged/workflow-agents";
import type { Models } from "./model.ts";

/** The models of Anthropic, by the name `anthropic`. The key is `ANTHROPIC_API_KEY` of the thread. */
export const anthropicModels = (access?: AnthropicAccess): Models => ({
  name: "anthropic",
  provider: anthropicProvider(access),
  serves: (model) => /^claude\b/i.test(model),
});

/**
 * The models of OpenAI, or of any server that speaks its chat completions, by the name `openai` or
 * another one. The key is `OPENAI_API_KEY`, the address `OPENAI_BASE_URL` of the thread.
 */
export const openaiModels = ({
  name = "openai",
  ...access
}: Access & { name?: string } = {}): Models => ({
  name,
  provider: openaiProvider(access),
  serves: (model) => !/^claude\b/i.test(model),
});
