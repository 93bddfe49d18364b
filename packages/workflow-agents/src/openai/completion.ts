import type { Usage } from "@uncaged/workflow";
import type {
  ChatCompletionAssistantMessageParam,
  ChatCompletionChunk,
  ChatCompletionContentPart,
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";
import { ProviderError } from "../llm/error.ts";
import {
  countIn,
  type Fields,
  fieldsIn,
  jsonTextIn,
  listIn,
  reasonIn,
  saidIn,
  textOfContent,
  thoughtIn,
  wordIn,
} from "../content/sent.ts";
import { isObject } from "../run/error.ts";
import { Accumulator, argumentsOf, GrowingText } from "../llm/accumulator.ts";
import {
  type Block,
  blocksOf,
  type Format,
  type Message,
  type ModelAnswer,
  type ModelRequest,
  type Stop,
  textOf,
  type ToolUse,
} from "../llm/provider.ts";

/** A request in the words of chat completions. Only OpenAI's own server knows the newer ones. */
export function bodyOf(
  request: ModelRequest,
  official: boolean,
): ChatCompletionCreateParamsStreaming {
  const { model, system, messages, tools, maxTokens, temperature, effort, format } = request;
  if (request.hostedTools && request.hostedTools.length > 0) {
    const hint = 'give openaiAgent api: "responses"';
    throw new ProviderError("LLM_BAD_REQUEST", "chat completions have no hosted tools", { hint });
  }
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
  if (format.type === "json_object") return format;
  const schema = { ...format.schema };
  return { type: "json_schema", json_schema: { name: "answer", schema, strict: true } };
}

function paramsOf(message: Message): ChatCompletionMessageParam[] {
  const blocks = blocksOf(message);
  if (message.role === "system") return [{ role: "system", content: textOf(blocks) }];
  if (message.role === "assistant") return [assistantOf(blocks)];
  const results = blocks.filter(({ type }) => type === "tool_result");
  const others = blocks.filter(({ type }) => type !== "tool_result");
  // Blocks of one message are parts of a whole: kept apart, as the other provider keeps them.
  const isText = others.every(({ type }) => type === "text");
  const own = isText ? textOf(blocks, "\n\n") : others.map(partOf);
  return [
    ...results.map(({ tool_use_id, content, is_error }): ChatCompletionMessageParam => {
      // The protocol has no word for a failed tool.
      const failed = is_error === true ? "error: " : "";
      return { role: "tool", tool_call_id: String(tool_use_id), content: failed + String(content) };
    }),
    ...results.flatMap(pictured),
    ...(own.length > 0 ? [{ role: "user" as const, content: own }] : []),
  ];
}

/** What a tool's message can't hold comes after it, as the user's. */
function pictured({ tool_use_id, parts }: Block): ChatCompletionMessageParam[] {
  if (!Array.isArray(parts)) return [];
  const text = `What the tool call ${String(tool_use_id)} gave:`;
  return [{ role: "user", content: [{ type: "text", text }, ...(parts as Block[]).map(partOf)] }];
}

/** A block as a part of a user's message: text, a picture or a document as Anthropic has them, or one of OpenAI's own. */
function partOf(block: Block): ChatCompletionContentPart {
  const { type, text, source, title } = block;
  if (type === "text") return { type, text: String(text) };
  if (isObject(source) && source.type === "text") {
    return { type: "text", text: titledText(title, source.data) };
  }
  if (type !== "image" && type !== "document") return block as unknown as ChatCompletionContentPart;
  const {
    type: kind,
    url,
    media_type,
    data,
  } = Object(source) as Record<string, string | undefined>;
  const address = kind === "url" ? url : `data:${media_type};base64,${data}`;
  const isKnown = kind === "url" ? type === "image" && url !== undefined : kind === "base64";
  if (!isKnown || address === undefined) {
    const message = `a block of type ${type} from ${String(kind)} can't be sent to chat completions`;
    throw new ProviderError("LLM_BAD_REQUEST", message);
  }
  if (type === "image") return { type: "image_url", image_url: { url: address } };
  const filename = typeof title === "string" ? title : "document.pdf";
  return { type: "file", file: { file_data: address, filename } };
}

export const titledText = (title: unknown, text: unknown): string =>
  typeof title === "string"
    ? `<file name=${JSON.stringify(title)}>\n${String(text)}\n</file>`
    : String(text);

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

type Call = { id: string; name: string; json: GrowingText };

/** A chat completion as it is streamed. Its counts come last: an answer that broke off has none. */
export class CompletionAccumulator extends Accumulator<ChatCompletionChunk> {
  readonly #text = new GrowingText();
  readonly #thinking = new GrowingText();
  readonly #refusal = new GrowingText();
  readonly #calls = new Map<number, Call>();
  #finishReason: string | null = null;

  add(chunk: ChatCompletionChunk): void {
    const { id, model, choices, usage } = fieldsIn(chunk, "a chunk");
    this.id ||= wordIn(id);
    this.model ||= wordIn(model);
    const choice = fieldsIn(listIn(choices, "choices")[0], "choices[0]");
    this.#delta(fieldsIn(choice.delta ?? choice.message, "delta"));
    this.#finishReason = reasonIn(choice.finish_reason) ?? this.#finishReason;
    if (isObject(usage)) this.count(usageOf(usage));
  }

  answer(): ModelAnswer | null {
    const finishReason = this.#finishReason;
    if (finishReason === null) return null;
    const { id, model, usage } = this;
    const text = String(this.#text);
    const refusal = String(this.#refusal);
    const toolUses = [...this.#calls.values()].map(({ json, ...call }): ToolUse => {
      return { ...call, ...argumentsOf(String(json)) };
    });
    const calls = toolUses.map(({ id: call, name, input }): Block => {
      return { type: "tool_use", id: call, name, input };
    });
    return {
      ...{ id, model, usage, text, toolUses, finishReason },
      blocks: [...(text ? [{ type: "text", text }] : []), ...calls],
      thinking: String(this.#thinking),
      stop: refusal ? "refused" : stopOf(finishReason),
      ...(refusal && { detail: refusal.slice(0, 300) }),
    };
  }

  // Servers other than OpenAI's have the tokens of reasoning as `reasoning_content` or `reasoning`.
  #delta({ content, refusal, tool_calls, ...delta }: Fields): void {
    const said = saidIn(content, "delta.content");
    if (said.text) this.text(this.#text, said.text);
    const thought = said.thinking + thoughtIn(delta.reasoning_content ?? delta.reasoning);
    if (thought) this.think(this.#thinking, thought);
    const refused = saidIn(refusal, "delta.refusal");
    this.grow(this.#refusal, said.refusal + refused.text + refused.refusal);
    for (const sent of listIn(tool_calls, "delta.tool_calls")) {
      const { index, id, function: made } = fieldsIn(sent, "delta.tool_calls[0]");
      const { name, arguments: json } = fieldsIn(made, "tool_calls.function");
      const call = this.#call(index, wordIn(id));
      call.name ||= textOfContent(name, "tool_calls.function.name");
      this.grow(call.json, jsonTextIn(json, "tool_calls.function.arguments"));
    }
  }

  // Some servers leave the index out: then a new id begins a new call.
  #call(given: unknown, id: string): Call {
    const calls = this.#calls;
    const known = [...calls].find(([, call]) => call.id === id)?.[0];
    const index =
      (typeof given === "number" ? given : null) ??
      known ??
      Math.max(id ? calls.size : calls.size - 1, 0);
    const call = calls.get(index) ?? {
      id: id || `call_${index}`,
      name: "",
      json: new GrowingText(),
    };
    calls.set(index, call);
    return call;
  }
}

const stops: Record<string, Stop> = {
  stop: "end",
  tool_calls: "tools",
  length: "truncated",
  content_filter: "refused",
};

const stopOf = (reason: string): Stop =>
  (Object.hasOwn(stops, reason) ? stops[reason] : null) ?? "unknown";

/** OpenAI counts cached tokens as part of the prompt's; the ledger keeps them apart. */
function usageOf(usage: Fields): Usage {
  const { prompt_tokens_details: prompt, completion_tokens_details: completion } = usage;
  const read = countOf(prompt, "cached_tokens");
  const write = countOf(prompt, "cache_write_tokens");
  return {
    input_tokens: Math.max(0, countIn(usage.prompt_tokens) - read - write),
    output_tokens: countIn(usage.completion_tokens),
    thinking_tokens: countOf(completion, "reasoning_tokens"),
    cache_read_tokens: read,
    cache_write_tokens: write,
  };
}

const countOf = (details: unknown, name: string): number =>
  isObject(details) ? countIn(details[name]) : 0;
