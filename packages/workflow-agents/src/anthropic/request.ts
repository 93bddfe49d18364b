import { transformJSONSchema } from "@anthropic-ai/sdk/lib/transform-json-schema";
import type {
  CacheControlEphemeral,
  ContentBlockParam,
  MessageCountTokensParams,
  MessageCreateParamsStreaming,
  MessageParam,
  TextBlockParam,
  ThinkingConfigParam,
  Tool,
} from "@anthropic-ai/sdk/resources/messages/messages";
import {
  blocksOf,
  type Message,
  type ModelRequest,
  textOf,
  type Thinking,
} from "../llm/provider.ts";
import type { ToolDefinition } from "../tools/tools.ts";

const maxTokens = 16_384;

/**
 * A request in the words of the Messages API. With a cache the system prompt, the last tool and the
 * last message end what is cached, so that each turn of a tool loop reads the turns before.
 */
export function bodyOf(request: ModelRequest, cache: boolean): MessageCreateParamsStreaming {
  const { model, temperature, thinking, effort, format } = request;
  const mark: Mark = cache ? { cache_control: { type: "ephemeral" } } : {};
  const system = systemOf(request, mark);
  const tools = toolsOf(request.tools, mark);
  const output = {
    ...(effort && { effort: effort === "none" || effort === "minimal" ? "low" : effort }),
    ...(format?.type === "json_schema" && {
      format: { type: "json_schema" as const, schema: transformJSONSchema({ ...format.schema }) },
    }),
  };
  return {
    model,
    max_tokens: request.maxTokens ?? maxTokens,
    messages: messagesOf(request.messages, mark),
    stream: true,
    ...(system && { system }),
    ...(tools.length > 0 && { tools }),
    ...(thinking && { thinking: thinkingOf(thinking) }),
    ...(Object.keys(output).length > 0 && { output_config: output }),
    // Not in the client's types, for its newest models refuse it: older ones take it.
    ...(temperature !== undefined && { temperature }),
  };
}

/** The same request to be counted: without what has no part in its input. */
export function countBodyOf(request: ModelRequest): MessageCountTokensParams {
  const body = bodyOf({ ...request, temperature: undefined }, false);
  const { max_tokens: _, stream: _stream, ...input } = body;
  return input;
}

type Mark = { cache_control?: CacheControlEphemeral };

function systemOf({ system, messages }: ModelRequest, mark: Mark): TextBlockParam[] | null {
  const more = messages.filter(({ role }) => role === "system").map((m) => textOf(blocksOf(m)));
  const text = [system, ...more].filter((part) => part.trim() !== "").join("\n\n");
  return text ? [{ type: "text", text, ...mark }] : null;
}

function toolsOf(definitions: readonly ToolDefinition[], mark: Mark): Tool[] {
  return definitions.map(({ name, description, input_schema }, at) => {
    const schema = { ...input_schema, type: "object" as const };
    const last = at === definitions.length - 1;
    return { name, description, input_schema: schema, ...(last && mark) };
  });
}

function messagesOf(messages: readonly Message[], mark: Mark): MessageParam[] {
  const turns = messages.filter(({ role }) => role !== "system");
  return turns.map((message, at): MessageParam => {
    const role = message.role === "assistant" ? "assistant" : "user";
    const blocks = blocksOf(message).filter(({ type, text }) => type !== "text" || text !== "");
    const last = at === turns.length - 1 && role === "user" ? blocks.length - 1 : -1;
    const content = blocks.map((block, n) => (n === last ? { ...block, ...mark } : block));
    // The blocks are the API's own: they came from it, or have the documented shapes.
    return { role, content: content as unknown as ContentBlockParam[] };
  });
}

function thinkingOf(thinking: Thinking): ThinkingConfigParam {
  if (thinking === "adaptive") return { type: "adaptive", display: "summarized" };
  if (typeof thinking === "string") return { type: thinking };
  const { budgetTokens } = thinking;
  return { type: "enabled", budget_tokens: budgetTokens, display: "summarized" };
}
