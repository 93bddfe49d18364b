import { noUsage, type Usage } from "@uncaged/workflow";
import type {
  ChatCompletionAssistantMessageParam,
  ChatCompletionChunk,
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";
import type { PartialUsage } from "../llm/error.ts";
import {
  argumentsOf,
  type Block,
  blocksOf,
  type Format,
  GrowingText,
  type Message,
  type ModelAnswer,
  type ModelRequest,
  type ModelSink,
  type Stop,
  textOf,
  type ToolUse,
} from "../llm/provider.ts";
import type { Accumulator } from "../llm/stream.ts";

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

type Delta = ChatCompletionChunk.Choice.Delta;
type CallDelta = ChatCompletionChunk.Choice.Delta.ToolCall;
/** What servers other than OpenAI's call the tokens of reasoning. */
type Reasoning = { reasoning_content?: string | null; reasoning?: string | null };
type Call = { id: string; name: string; json: GrowingText };

/** A chat completion as it is streamed. */
export class CompletionAccumulator implements Accumulator<ChatCompletionChunk> {
  size = 0;
  readonly #sink: ModelSink;
  readonly #text = new GrowingText();
  readonly #thinking = new GrowingText();
  readonly #refusal = new GrowingText();
  readonly #calls = new Map<number, Call>();
  #id = "";
  #model = "";
  #finishReason: string | null = null;
  #usage: Usage = noUsage;

  constructor(sink: ModelSink) {
    this.#sink = sink;
  }

  // Its counts come last of all: with an answer that broke off there are none.
  get partial(): PartialUsage | null {
    return this.#usage === noUsage ? null : { model: this.#model, usage: this.#usage };
  }

  add({ id, model, choices, usage }: ChatCompletionChunk): void {
    this.#id ||= id;
    this.#model ||= model;
    const [choice] = choices;
    if (choice) {
      this.#grow(choice.delta);
      this.#finishReason = choice.finish_reason ?? this.#finishReason;
    }
    if (!usage) return;
    this.#usage = usageOf(usage);
    this.#sink.onUsage?.({ model: this.#model, usage: this.#usage });
  }

  answer(): ModelAnswer | null {
    const finishReason = this.#finishReason;
    if (finishReason === null) return null;
    const text = String(this.#text);
    const refusal = String(this.#refusal);
    const toolUses = [...this.#calls.values()].map(({ id, name, json }): ToolUse => {
      return { id, name, ...argumentsOf(String(json)) };
    });
    const calls = toolUses.map(({ id, name, input }): Block => {
      return { type: "tool_use", id, name, input };
    });
    const stop = stops[finishReason] ?? "unknown";
    return {
      id: this.#id,
      model: this.#model,
      usage: this.#usage,
      text,
      toolUses,
      finishReason,
      blocks: [...(text ? [{ type: "text", text }] : []), ...calls],
      thinking: String(this.#thinking),
      stop: refusal ? "refused" : stop,
      ...(refusal && { detail: refusal.slice(0, 300) }),
    };
  }

  #grow(delta: Delta & Reasoning): void {
    const { content, refusal, tool_calls } = delta;
    if (content) {
      this.size += content.length;
      this.#text.add(content);
      this.#sink.onToken(content);
    }
    const thought = delta.reasoning_content ?? delta.reasoning;
    if (thought) {
      this.size += thought.length;
      this.#thinking.add(thought);
      this.#sink.onThinking(thought);
    }
    if (refusal) {
      this.size += refusal.length;
      this.#refusal.add(refusal);
    }
    if (tool_calls) for (const call of tool_calls) this.#call(call);
  }

  #call({ index, id, function: part = {} }: CallDelta): void {
    const call = this.#calls.get(this.#indexOf(index, id)) ?? this.#begin(index, id);
    call.name ||= part.name ?? "";
    const json = part.arguments ?? "";
    this.size += json.length;
    call.json.add(json);
  }

  #begin(index: number | undefined, id: string | undefined): Call {
    const at = index ?? this.#calls.size;
    const call = { id: id || `call_${at}`, name: "", json: new GrowingText() };
    this.#calls.set(at, call);
    return call;
  }

  // Some servers leave the index out: then a new id begins a new call.
  #indexOf(index: number | undefined, id: string | undefined): number {
    if (index !== undefined) return index;
    const known = [...this.#calls].find(([, call]) => call.id === id)?.[0];
    return known ?? (id ? this.#calls.size : this.#calls.size - 1);
  }
}

const stops: Partial<Record<string, Stop>> = {
  stop: "end",
  tool_calls: "tools",
  length: "truncated",
  content_filter: "refused",
};

/** OpenAI counts cached tokens as part of the prompt's; the ledger keeps them apart. */
function usageOf({
  prompt_tokens,
  completion_tokens,
  prompt_tokens_details: prompt,
  completion_tokens_details: completion,
}: NonNullable<ChatCompletionChunk["usage"]>): Usage {
  const read = prompt?.cached_tokens ?? 0;
  const write = prompt?.cache_write_tokens ?? 0;
  return {
    input_tokens: Math.max(0, prompt_tokens - read - write),
    output_tokens: completion_tokens,
    thinking_tokens: completion?.reasoning_tokens ?? 0,
    cache_read_tokens: read,
    cache_write_tokens: write,
  };
}
