import { ProviderError } from "../llm/error.ts";

export const noHostedTools = (): ProviderError =>
  new ProviderError("LLM_BAD_REQUEST", "chat completions have no hosted tools", {
    hint: 'set openaiAgent\'s api: "responses"',
  });

/** `source`: of the block, such as "url". */
export const blockNotSendable = (type: string, source: unknown, api: string): ProviderError =>
  new ProviderError(
    "LLM_BAD_REQUEST",
    `a block of type ${type} from ${String(source)} can't be sent to ${api}`,
  );
