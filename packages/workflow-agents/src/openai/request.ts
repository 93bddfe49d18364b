import type {
  ChatCompletionAssistantMessageParam,
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";
import {
  type Block,
  blocksOf,
  type Format,
  type Message,
  type ModelRequest,
  textOf,
} from "../llm/provider.ts";

/** A request in the words of chat completions. Only OpenAI's own server knows the newer ones. */
export function bodyOf(
  request: ModelRequest,
  official: boolean,
): ChatCompletionCreateParamsStreaming {
  const { model, system, messages, tools, maxTokens, temperature, effort, format } = request;
  const turns = messages.flatMap(paramsOf);
  const first: ChatCompletionMessageParam[] = system ? [{ role: "system", content: system }] : [];
  return {
    model,
    messages: [...first, ...turns],
    stream: true,
    stream_options: { include_usage: true },
    ...(maxTokens && { [official ? "max_completion_tokens" : "max_tokens"]: maxTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(effort && { reasoning_effort: effort }),
    ...(format && { response_format: formatOf(format) }),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, input_schema }) => {
        const parameters = input_schema;
        return { type: "function" as const, function: { name, description, parameters } };
      }),
    }),
  };
}

function formatOf(format: Format): ChatCompletionCreateParamsStreaming["response_format"] {
  if (format.type === "json_object") return { type: "json_object" };
  const json_schema = { name: "answer", schema: { ...format.schema } };
  return { type: "json_schema", json_schema };
}

function paramsOf(message: Message): ChatCompletionMessageParam[] {
  const blocks = blocksOf(message);
  if (message.role === "system") return [{ role: "system", content: textOf(blocks) }];
  if (message.role === "assistant") return [assistantOf(blocks)];
  const results = blocks.filter(({ type }) => type === "tool_result");
  const text = textsOf(blocks);
  return [
    ...results.map(({ tool_use_id, content, is_error }): ChatCompletionMessageParam => {
      // The protocol has no word for a failed tool.
      const failed = is_error === true ? "error: " : "";
      return { role: "tool", tool_call_id: String(tool_use_id), content: failed + String(content) };
    }),
    ...(text ? [{ role: "user" as const, content: text }] : []),
  ];
}

function assistantOf(blocks: readonly Block[]): ChatCompletionAssistantMessageParam {
  const calls = blocks.filter(({ type }) => type === "tool_use");
  const text = textOf(blocks);
  return {
    role: "assistant",
    content: text || null,
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ id, name, input }) => ({
        id: String(id),
        type: "function" as const,
        function: { name: String(name), arguments: JSON.stringify(input) },
      })),
    }),
  };
}

// Blocks of one message are parts of a whole: kept apart, as the other provider keeps them.
const textsOf = (blocks: readonly Block[]): string =>
  blocks
    .filter(({ type }) => type === "text")
    .map(({ text }) => String(text))
    .join("\n\n");
