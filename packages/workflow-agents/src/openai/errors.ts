import { ProviderError } from "../llm/error.ts";

export const noHostedTools = (): ProviderError =>
  new ProviderError("LLM_BAD_REQUEST", "chat completions do not support hosted tools", {
    hint: 'set openaiAgent\'s api: "responses"',
  });

/**
 * Returns the error for a block that an API does not support. `source` is the type of the block's source, such as
 * "url".
 */
export const blockNotSendable = (type: string, source: unknown, api: string): ProviderError =>
  new ProviderError(
    "LLM_BAD_REQUEST",
    `a block of type ${type} from ${String(source)} can't be sent to ${api}`,
  );
