import type {
  CacheControlEphemeral,
  ContentBlockParam,
  MessageCountTokensParams,
  MessageCreateParamsStreaming,
  MessageParam,
  StopReason,
  ThinkingConfigParam,
  Tool,
} from "@anthropic-ai/sdk/resources/messages/messages";
import type { Usage } from "@uncaged/workflow";
import {
  countIn,
  type Fields,
  fieldsIn,
  jsonTextIn,
  kindOf,
  nameIn,
  partsIn,
  reasonIn,
  textOfContent,
  UnreadableContent,
  wordIn,
} from "../content/sent.ts";
import { isObject } from "../run/error.ts";
import { Accumulator, argumentsOf, GrowingText, idsOf } from "../llm/accumulator.ts";
import type { Asked } from "../llm/form.ts";
import { Places } from "../llm/places.ts";
import {
  type Block,
  blocksOf,
  cacheEnd,
  type HostedCall,
  type Message,
  type ModelAnswer,
  type Stop,
  textOf,
  type Thinking,
  type ToolUse,
} from "../llm/provider.ts";

/** The lifetime of the cached start of a conversation. `false` disables the cache. */
export type Cache = "5m" | "1h" | false;

// Maximum number of cache marks in a request of the API.
const mostMarks = 4;

/**
 * Builds a request of the Messages API. Its cache marks let later turns and steps read the conversation from the cache.
 */
export function bodyOf(request: Asked, cache: Cache): MessageCreateParamsStreaming {
  const { model, temperature, thinking, effort, format } = request;
  const lasting = cache === "1h" ? { ttl: cache } : {};
  const mark: Mark = cache ? { cache_control: { type: "ephemeral", ...lasting } } : {};
  const system = systemOf(request);
  const own = request.tools.map(({ name, description, input_schema }): Tool => {
    return { name, description, input_schema: { ...input_schema, type: "object" } };
  });
  // Hosted tools are already in the provider's format.
  const all = [...((request.hostedTools ?? []) as unknown as Tool[]), ...own];
  const tools = all.map((tool, at) => (at === all.length - 1 ? { ...tool, ...mark } : tool));
  const used = (system ? 1 : 0) + (tools.length > 0 ? 1 : 0);
  const container = containerIn(request.messages);
  const output = {
    ...(effort && { effort: effort === "none" || effort === "minimal" ? "low" : effort }),
    ...(format?.type === "json_schema" && {
      format: { type: "json_schema" as const, schema: { ...format.schema } },
    }),
  };
  return {
    model,
    max_tokens: request.maxTokens ?? 16_384,
    messages: messagesOf(request.messages, mark, mostMarks - used),
    stream: true,
    ...(system && { system: [{ type: "text", text: system, ...mark }] }),
    ...(tools.length > 0 && { tools }),
    ...(request.mustCall && { tool_choice: { type: "any", disable_parallel_tool_use: true } }),
    ...(container !== undefined && { container }),
    ...(thinking && { thinking: thinkingOf(thinking) }),
    ...(Object.keys(output).length > 0 && { output_config: output }),
    // The client's types lack `temperature`, because the newest models refuse it. Older models accept it.
    ...(temperature !== undefined && { temperature }),
  };
}

// Builds a request that counts the input tokens, without the options that do not affect the input.
export function countBodyOf(request: Asked): MessageCountTokensParams {
  const body = bodyOf({ ...request, temperature: undefined }, false);
  const { max_tokens: _, stream: _stream, container: _container, ...input } = body;
  return input;
}

type Mark = { cache_control?: CacheControlEphemeral };

function systemOf({ system, messages }: Asked): string {
  const more = messages.filter(({ role }) => role === "system").map((m) => textOf(blocksOf(m)));
  return [system, ...more].filter((part) => part.trim() !== "").join("\n\n");
}

function messagesOf(messages: readonly Message[], mark: Mark, most: number): MessageParam[] {
  const turns = messages.filter(({ role }) => role !== "system");
  const lists = turns.map((message) =>
    blocksOf(message)
      .filter(({ type, item }) => !type.startsWith(ownPrefix) && (!isObject(item) || isOwn(type)))
      .map(withParts),
  );
  const marked = new Set(markedIn(turns, lists).slice(0, most));
  return turns.flatMap((message, at): MessageParam[] => {
    const role = message.role === "assistant" ? "assistant" : "user";
    const blocks = lists[at] ?? [];
    const content = blocks.map((block, n) =>
      marked.has(`${at} ${n}`) ? { ...block, ...mark } : block,
    );
    // These blocks came from the API, or have documented shapes.
    const sent = content as unknown as ContentBlockParam[];
    return sent.length > 0 ? [{ role, content: sent }] : [];
  });
}

// Prefix of block types that this package adds to the API's.
const ownPrefix = "uncaged_";
// Block with the container in which hosted tools ran. The next turn continues in that container.
const containerType = `${ownPrefix}container`;

function containerIn(messages: readonly Message[]): string | undefined {
  const last = messages.flatMap(blocksOf).findLast(({ type }) => type === containerType);
  return typeof last?.id === "string" ? last.id : undefined;
}

/** Returns whether this API accepts a block type of another provider. */
const isOwn = (type: string): boolean => type === "text" || type === "tool_use";

function withParts(given: Block): Block {
  const { parts, ...block } = given;
  // Only OpenAI's protocols use these fields.
  delete block.item;
  delete block.extra_content;
  if (block.type !== "tool_result" || !Array.isArray(parts)) return block;
  return { ...block, content: [{ type: "text", text: block.content }, ...(parts as Block[])] };
}

/**
 * Returns the positions of the blocks to mark for the cache, the most important first: the ends of the last two user
 * messages, then the ends of earlier steps. From each mark, the API looks back only 20 blocks for a cache entry.
 */
function markedIn(turns: readonly Message[], lists: readonly Block[][]): string[] {
  const asked = turns.flatMap(({ role }, at) =>
    role === "assistant" || lists[at]?.length === 0 ? [] : [at],
  );
  const ends = asked
    .slice(-2)
    .toReversed()
    .map((at) => `${at} ${(lists[at] ?? []).length - 1}`);
  const earlier = lists.flatMap((blocks, at) =>
    blocks.flatMap((block, n) => (block[cacheEnd] ? [`${at} ${n}`] : [])),
  );
  return [...new Set([...ends, ...earlier])];
}

function thinkingOf(thinking: Thinking): ThinkingConfigParam {
  if (thinking === "adaptive") return { type: "adaptive", display: "summarized" };
  if (typeof thinking === "string") return { type: thinking };
  const { budgetTokens } = thinking;
  return { type: "enabled", budget_tokens: budgetTokens, display: "summarized" };
}

type Part = { block: Block; text: GrowingText; json: GrowingText; hasEnded: boolean };

/** Documented block types, except results of hosted tools. */
const blockTypes = new Set([
  ...["text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "mcp_tool_use"],
  ...["container_upload", "compaction", "fallback"],
]);

const isKnownBlock = (type: string): boolean => blockTypes.has(type) || type.endsWith("_result");

/** Builds an answer of the Messages API from its events or from the whole message. */
export class MessageAccumulator extends Accumulator {
  readonly #parts = new Map<number, Part>();
  readonly #places = new Places("index");
  #stopReason: string | null = null;
  #detail: string | undefined;
  #container: string | null = null;
  #isAnnounced = false;
  #counted = { input: false, output: false };

  protected add(sent: unknown): void {
    const event = fieldsIn(sent, "an event");
    switch (event.type) {
      case "content_block_delta":
        return this.#delta(this.#places.of(event.index), fieldsIn(event.delta, "delta"));
      case "content_block_start":
        this.#isAnnounced = true;
        return this.#begin(event.index, fieldsIn(event.content_block, "content_block"));
      case "message_start":
        return this.#head(fieldsIn(event.message, "message"));
      case "message_delta":
        this.#end(fieldsIn(event.delta, "delta"));
        return this.#count(event.usage, true);
      case "message_stop":
        this.isWhole = true;
        return;
      case "message": {
        this.#head(event);
        for (const [index, block] of partsIn(event.content, "content").entries()) {
          this.#begin(index, fieldsIn(block, "content"));
        }
        this.#end(event);
        return this.#count(event.usage, true);
      }
      case "ping":
        return;
      case "content_block_stop":
        return this.#stop(event);
      default: // The API may add event types. Fail for a type that adds to the answer.
        nameIn(event.type, "an event's type");
        if ("delta" in event || "content_block" in event) throw unknown("an event", event.type);
    }
  }

  answer(): ModelAnswer | null {
    if (!this.isWhole && this.#stopReason === null) return null;
    const { id, model, usage } = this;
    const parts = [...this.#parts].toSorted(([a], [b]) => a - b).map(([, part]) => part);
    const uses = parts.filter(({ block }) => block.type === "tool_use");
    const ids = idsOf(
      uses.map(({ block }) => wordIn(block.id)),
      "toolu_",
    );
    for (const [at, { block }] of uses.entries()) block.id = ids[at];
    const toolUses: ToolUse[] = [];
    const blocks = parts.map((part) => finished(part, toolUses));
    const thinking = blocks.map((block) => (block.type === "thinking" ? block.thinking : ""));
    const hosted = blocks.flatMap((block) => hostedOf(block, blocks));
    if (this.#container !== null) blocks.push({ type: containerType, id: this.#container });
    return {
      ...{ id, model, usage, toolUses, blocks },
      ...(hosted.length > 0 && { hosted }),
      text: textOf(blocks),
      thinking: thinking.join(""),
      stop: stopOf(this.#stopReason, toolUses.length > 0),
      finishReason: this.#stopReason ?? "no reason",
      ...(this.#detail !== undefined && { detail: this.#detail }),
      ...this.notes(this.#counted.input && this.#counted.output),
    };
  }

  #head({ id, model, usage }: Fields): void {
    this.id ||= wordIn(id);
    this.model ||= wordIn(model);
    this.#count(usage, false);
  }

  #end({ stop_reason, container, stop_details }: Fields): void {
    this.#stopReason = reasonIn(stop_reason) ?? this.#stopReason;
    if (isObject(container)) this.#container = wordIn(container.id) || null;
    this.#detail = detailOf(stop_details) ?? this.#detail;
  }

  /** Updates the usage. The counts are totals of the message, and the output count is final only at the end. */
  #count(sent: unknown, isEnd: boolean): void {
    const usage = isObject(sent) ? sent : {};
    const input = countIn(usage.input_tokens, -1);
    const output = countIn(usage.output_tokens, -1);
    if (input >= 0) this.#counted.input = true;
    if (output >= 0 && isEnd) this.#counted.output = true;
    if (input >= 0 || output >= 0) this.count(counted(this.usage, usage));
  }

  #stop({ index }: Fields): void {
    const at = countIn(index, -1);
    const part = this.#parts.get(at < 0 ? at : this.#places.of(at));
    if (part) part.hasEnded = true;
  }

  #begin(index: unknown, given: Fields): void {
    const block: Block = { ...given, type: nameIn(given.type, "content_block.type") };
    const isSame = ({ block: { id, type }, hasEnded }: Part): boolean =>
      type === block.type && wordIn(id) === wordIn(block.id) && (!hasEnded || wordIn(id) !== "");
    const place = this.#places.begin(index, (at) => {
      const there = this.#parts.get(at);
      return there !== undefined && !isSame(there);
    });
    // A repeated start does not reset the block.
    if (this.#parts.has(place)) return;
    if (!isKnownBlock(block.type)) this.leave(`a block of type ${block.type}`);
    const part = { block, text: new GrowingText(), json: new GrowingText(), hasEnded: false };
    this.#parts.set(place, part);
    if (block.type === "text") this.#text(part, given.text, "content_block.text");
    if (block.type === "thinking") this.#thought(part, given.thinking);
  }

  /** Starts a block that lacks a start event. The type of the first delta determines the type of the block. */
  #unbegun(index: number, type: unknown): Part {
    const known = type === "text_delta" ? "text" : type === "thinking_delta" ? "thinking" : null;
    if (known === null || this.#isAnnounced) {
      throw new UnreadableContent("content_block_start", `is missing for the block ${index}`);
    }
    this.#begin(index, { type: known });
    return this.#parts.get(index) as Part;
  }

  #delta(index: number, delta: Fields): void {
    const part = this.#parts.get(index) ?? this.#unbegun(index, delta.type);
    const { block } = part;
    switch (`${wordIn(delta.type)} of ${block.type}`) {
      case "text_delta of text":
        return this.#text(part, delta.text, "delta.text");
      case "thinking_delta of thinking":
        return this.#thought(part, delta.thinking);
      case "signature_delta of thinking":
        block.signature = textOfContent(delta.signature, "delta.signature");
        return;
      case "citations_delta of text":
        if (isObject(delta.citation)) {
          block.citations = [block.citations ?? [], delta.citation].flat();
        }
        return;
    }
    if (delta.type !== "input_json_delta" || (!("input" in block) && block.type !== "tool_use")) {
      throw unknown(`a block of type ${block.type}`, delta.type, "delta");
    }
    this.grow(part.json, jsonTextIn(delta.partial_json, "delta.partial_json"));
  }

  #text(part: Part, content: unknown, field: string): void {
    const text = textOfContent(content, field);
    if (text !== "") this.text(part.text, text);
  }

  // Signed thinking must be sent back unchanged.
  #thought(part: Part, content: unknown): void {
    const thought = textOfContent(content, "thinking");
    if (thought !== "") this.think(part.text, thought);
  }
}

const unknown = (where: string, type: unknown, what = ""): UnreadableContent => {
  const shown = typeof type === "string" ? JSON.stringify(type.slice(0, 40)) : kindOf(type);
  return new UnreadableContent(where, ["has", what, "the unknown type", shown].join(" "));
};

const stops: Record<string, Stop> = {
  end_turn: "end",
  stop_sequence: "end",
  tool_use: "tools",
  max_tokens: "truncated",
  pause_turn: "paused",
  refusal: "refused",
  model_context_window_exceeded: "context_full",
} satisfies Record<StopReason, Stop>;

const stopOf = (reason: string | null, hasUses: boolean): Stop => {
  if (reason === null) return hasUses ? "tools" : "end";
  return (Object.hasOwn(stops, reason) ? stops[reason] : null) ?? "unknown";
};

/** Returns a finished block for the next request. If the block is a tool call, also adds it to `toolUses`. */
function finished({ block, text, json }: Part, toolUses: ToolUse[]): Block {
  if (block.type === "text") return { ...block, text: String(text) };
  if (block.type === "thinking") return { ...block, thinking: String(text) };
  const sent = String(json);
  if (block.type !== "tool_use") {
    return sent === "" ? { ...block } : { ...block, input: argumentsOf(sent).input };
  }
  const given = argumentsOf(sent || jsonTextIn(block.input, "content_block.input"));
  const { input, exact } = given;
  toolUses.push({ id: wordIn(block.id), name: wordIn(block.name), ...given });
  return { ...block, name: wordIn(block.name), input, ...(exact !== undefined && { exact }) };
}

const longestResult = 2000;

/** Returns a call of a hosted tool with its result. The result may still be missing, and come in a later turn. */
function hostedOf({ type, id, name, input }: Block, blocks: readonly Block[]): HostedCall[] {
  if (type !== "server_tool_use") return [];
  const result = blocks.find(({ tool_use_id }) => tool_use_id === id);
  const text = result ? JSON.stringify(result.content ?? null) : "not ended yet";
  const shown = text.length > longestResult ? `${text.slice(0, longestResult)}…` : text;
  return [{ id: wordIn(id), name: wordIn(name), input: Object(input) as object, result: shown }];
}

/** Merges usage. Each reported count replaces the earlier count. */
function counted(before: Usage, sent: unknown): Usage {
  const usage = isObject(sent) ? sent : {};
  const { output_tokens_details: details } = usage;
  const thinking = isObject(details) ? details.thinking_tokens : null;
  return {
    input_tokens: countIn(usage.input_tokens, before.input_tokens),
    output_tokens: countIn(usage.output_tokens, before.output_tokens),
    thinking_tokens: countIn(thinking, before.thinking_tokens),
    cache_read_tokens: countIn(usage.cache_read_input_tokens, before.cache_read_tokens),
    cache_write_tokens: countIn(usage.cache_creation_input_tokens, before.cache_write_tokens),
  };
}

const detailOf = (sent: unknown): string | undefined => {
  const { category, explanation } = isObject(sent) ? sent : {};
  return [wordIn(category), wordIn(explanation)].filter(Boolean).join(", ") || undefined;
};
