import type {
  ContentBlock,
  MessageDeltaUsage,
  RawContentBlockDelta,
  RawMessageStreamEvent,
  StopReason,
  Usage as WireUsage,
} from "@anthropic-ai/sdk/resources/messages/messages";
import { noUsage, type Usage } from "@uncaged/workflow";
import type { PartialUsage } from "../llm/error.ts";
import {
  argumentsOf,
  type Block,
  GrowingText,
  type ModelAnswer,
  type ModelSink,
  type Stop,
  textOf,
  type ToolUse,
} from "../llm/provider.ts";
import type { Accumulator } from "../llm/stream.ts";

type Part = { block: ContentBlock; text: GrowingText; json: GrowingText };

/** A message of the Messages API as it is streamed. */
export class MessageAccumulator implements Accumulator<RawMessageStreamEvent> {
  size = 0;
  readonly #sink: ModelSink;
  readonly #parts: Part[] = [];
  #id = "";
  #model = "";
  #usage: Usage = noUsage;
  #stopReason: StopReason | null = null;
  #detail: string | undefined;
  #ended = false;

  constructor(sink: ModelSink) {
    this.#sink = sink;
  }

  get partial(): PartialUsage | null {
    return this.#model === "" ? null : { model: this.#model, usage: this.#usage };
  }

  add(event: RawMessageStreamEvent): void {
    switch (event.type) {
      case "content_block_delta":
        return this.#grow(this.#part(event.index), event.delta);
      case "content_block_start":
        return this.#begin(event.index, event.content_block);
      case "message_start":
        this.#id = event.message.id;
        this.#model = event.message.model;
        return this.#count(event.message.usage);
      case "message_delta":
        this.#stopReason = event.delta.stop_reason;
        this.#detail = detailOf(event.delta.stop_details);
        return this.#count(event.usage);
      case "message_stop":
        this.#ended = true;
        return;
      case "content_block_stop":
    }
  }

  answer(): ModelAnswer | null {
    if (!this.#ended) return null;
    const toolUses: ToolUse[] = [];
    const blocks = this.#parts.map((part) => {
      const { block, use } = finished(part);
      if (use) toolUses.push(use);
      return block;
    });
    const thinking = blocks.map((block) => (block.type === "thinking" ? block.thinking : ""));
    return {
      id: this.#id,
      model: this.#model,
      usage: this.#usage,
      toolUses,
      blocks,
      text: textOf(blocks),
      thinking: thinking.join(""),
      stop: this.#stopReason === null ? "unknown" : (stops[this.#stopReason] ?? "unknown"),
      finishReason: this.#stopReason ?? "no reason",
      ...(this.#detail !== undefined && { detail: this.#detail }),
    };
  }

  #count(usage: WireUsage | MessageDeltaUsage): void {
    this.#usage = counted(this.#usage, usage);
    if (this.partial !== null) this.#sink.onUsage?.(this.partial);
  }

  #part(index: number): Part {
    const part = this.#parts[index];
    if (part) return part;
    throw new TypeError(`content block ${index} never began`);
  }

  #begin(index: number, block: ContentBlock): void {
    const part = { block, text: new GrowingText(), json: new GrowingText() };
    this.#parts[index] = part;
    if (block.type === "text" && block.text) this.#text(part, block.text);
    if (block.type === "thinking" && block.thinking) this.#think(part, block.thinking);
  }

  #grow(part: Part, delta: RawContentBlockDelta): void {
    switch (delta.type) {
      case "text_delta":
        return this.#text(part, delta.text);
      case "thinking_delta":
        return this.#think(part, delta.thinking);
      case "input_json_delta":
        this.size += delta.partial_json.length;
        return part.json.add(delta.partial_json);
      case "signature_delta":
        if (part.block.type === "thinking") part.block.signature = delta.signature;
        return;
      case "citations_delta":
        if (part.block.type === "text") (part.block.citations ??= []).push(delta.citation);
    }
  }

  #text(part: Part, text: string): void {
    this.size += text.length;
    part.text.add(text);
    this.#sink.onToken(text);
  }

  #think(part: Part, text: string): void {
    this.size += text.length;
    part.text.add(text);
    this.#sink.onThinking(text);
  }
}

const stops: Partial<Record<string, Stop>> = {
  end_turn: "end",
  stop_sequence: "end",
  tool_use: "tools",
  max_tokens: "truncated",
  pause_turn: "paused",
  refusal: "refused",
  model_context_window_exceeded: "context_full",
} satisfies Record<StopReason, Stop>;

/** A whole block as it is handed back to the API, and the tool call that it is, if it is one. */
function finished({ block, text, json }: Part): { block: Block; use?: ToolUse } {
  if (block.type === "text") return { block: { ...block, text: String(text) } };
  if (block.type === "thinking") return { block: { ...block, thinking: String(text) } };
  if (block.type !== "tool_use" && block.type !== "server_tool_use") return { block: { ...block } };
  const given = String(json) || JSON.stringify(block.input ?? {});
  const { input, broken } = argumentsOf(given);
  const whole = { ...block, input };
  if (block.type === "server_tool_use") return { block: whole };
  return {
    block: whole,
    use: { id: block.id, name: block.name, input, ...(broken && { broken }) },
  };
}

/** The counts are totals of the whole message: what is given replaces what was. */
function counted(before: Usage, usage: WireUsage | MessageDeltaUsage): Usage {
  return {
    input_tokens: usage.input_tokens ?? before.input_tokens,
    output_tokens: usage.output_tokens ?? before.output_tokens,
    thinking_tokens: usage.output_tokens_details?.thinking_tokens ?? before.thinking_tokens,
    cache_read_tokens: usage.cache_read_input_tokens ?? before.cache_read_tokens,
    cache_write_tokens: usage.cache_creation_input_tokens ?? before.cache_write_tokens,
  };
}

function detailOf(details: { category: string | null; explanation: string | null } | null) {
  const parts = [details?.category, details?.explanation].filter((part) => part);
  return parts.length > 0 ? parts.join(", ") : undefined;
}
