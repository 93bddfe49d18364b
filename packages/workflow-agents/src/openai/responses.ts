import type { Usage } from "@uncaged/workflow";
import type {
  ResponseCreateParamsStreaming,
  ResponseInputContent,
  ResponseInputItem,
  Tool,
} from "openai/resources/responses/responses";
import {
  countIn,
  type Fields,
  fieldsIn,
  jsonTextIn,
  listIn,
  nameIn,
  reasonIn,
  type Said,
  saidIn,
  textOfContent,
  thoughtIn,
  wordIn,
} from "../content/sent.ts";
import { Accumulator, argumentsOf, GrowingText, idsOf } from "../llm/accumulator.ts";
import { StreamFailure } from "../llm/error.ts";
import type { Asked } from "../llm/form.ts";
import { Places } from "../llm/places.ts";
import {
  type Block,
  blocksOf,
  type HostedCall,
  type Message,
  type ModelAnswer,
  type Stop,
  textOf,
  type ToolUse,
} from "../llm/provider.ts";
import { isObject } from "../run/error.ts";
import { titledText } from "./completion.ts";
import { blockNotSendable } from "./errors.ts";

const encrypted = "reasoning.encrypted_content" as const;

/**
 * Returns a request of the Responses API. The service does not store the conversation, so the request contains it. With
 * `isEncrypted`, the service returns encrypted reasoning, which later requests contain. Only some models support
 * encryption.
 */
export function bodyOf(request: Asked, isEncrypted: boolean): ResponseCreateParamsStreaming {
  const { model, system, messages, maxTokens, temperature, thinking, effort, format } = request;
  const isShown = thinking !== undefined && thinking !== "disabled";
  const reasoning = { ...(effort && { effort }), ...(isShown && { summary: "auto" as const }) };
  const tools = toolsOf(request);
  return {
    model,
    input: messages.flatMap(itemsOf),
    stream: true,
    store: false,
    ...(system && { instructions: system }),
    ...(isEncrypted && { include: [encrypted] }),
    ...(maxTokens && { max_output_tokens: maxTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(Object.keys(reasoning).length > 0 && { reasoning }),
    ...(format && { text: { format: formatOf(format) } }),
    ...(tools.length > 0 && { tools }),
  };
}

type TextFormat = NonNullable<NonNullable<ResponseCreateParamsStreaming["text"]>["format"]>;

const formatOf = (format: NonNullable<Asked["format"]>): TextFormat =>
  format.type === "json_object"
    ? format
    : { type: "json_schema", name: "answer", schema: { ...format.schema }, strict: true };

function toolsOf({ hostedTools = [], tools }: Asked): Tool[] {
  const own = tools.map(({ name, description, input_schema: parameters }): Tool => {
    // Tools are strict by default, which allows fewer schemas.
    return { type: "function", name, description, parameters, strict: false };
  });
  return [...(hostedTools as unknown as Tool[]), ...own];
}

function itemsOf(message: Message): ResponseInputItem[] {
  const blocks = blocksOf(message);
  if (message.role === "system") return [{ role: "system", content: textOf(blocks) }];
  if (message.role === "assistant") return blocks.flatMap(ownItem);
  const results = blocks.filter(({ type }) => type === "tool_result");
  const others = blocks.filter(({ type }) => type !== "tool_result");
  return [
    ...results.map(resultItem),
    ...(others.length > 0 ? [{ role: "user" as const, content: others.map(contentOf) }] : []),
  ];
}

/** Returns an item of the model unchanged. Omits reasoning without encryption, which the service refuses. */
function ownItem({ type, item, text, id, name, input }: Block): ResponseInputItem[] {
  if (isObject(item)) {
    const isLost = item.type === "reasoning" && typeof item.encrypted_content !== "string";
    return isLost ? [] : [item as unknown as ResponseInputItem];
  }
  if (type === "text") return text === "" ? [] : [{ role: "assistant", content: String(text) }];
  if (type !== "tool_use") return [];
  const call = { call_id: String(id), name: String(name), arguments: JSON.stringify(input) };
  return [{ type: "function_call", ...call }];
}

function resultItem({ tool_use_id, content, is_error, parts }: Block): ResponseInputItem {
  // The protocol does not have a field for failed tool calls.
  const text = (is_error === true ? "error: " : "") + String(content);
  const output = Array.isArray(parts)
    ? [{ type: "input_text" as const, text }, ...(parts as Block[]).map(contentOf)]
    : text;
  return { type: "function_call_output", call_id: String(tool_use_id), output };
}

/**
 * Converts a block to content of a user's message: text, a picture or document in Anthropic's format, or content in
 * OpenAI's format.
 */
function contentOf(block: Block): ResponseInputContent {
  const { type, text, source, title } = block;
  if (type === "text") return { type: "input_text", text: String(text) };
  if (type !== "image" && type !== "document") return block as unknown as ResponseInputContent;
  const {
    type: kind,
    url,
    media_type,
    data,
  } = Object(source) as Record<string, string | undefined>;
  if (kind === "text") return { type: "input_text", text: titledText(title, data) };
  const address = kind === "base64" ? `data:${media_type};base64,${data}` : url;
  if (address === undefined || (kind !== "base64" && kind !== "url")) {
    throw blockNotSendable(type, kind, "the Responses API");
  }
  if (type === "image") return { type: "input_image", detail: "auto", image_url: address };
  if (kind === "url") return { type: "input_file", file_url: address };
  const filename = typeof title === "string" ? title : "document.pdf";
  return { type: "input_file", filename, file_data: address };
}

/** An item of an answer. Only `type` is checked. */
type Item = { type: string } & Fields;

const itemIn = (sent: unknown): Item => {
  const item = fieldsIn(sent, "output item");
  return { ...item, type: nameIn(item.type, "output item.type") };
};

/** An item that is being received. */
type Growing = { item: Item | null; text: GrowingText; json: GrowingText };

/** Builds an answer of the Responses API, streamed or as a document. */
export class ResponseAccumulator extends Accumulator {
  readonly #items = new Map<number, Item>();
  readonly #growing = new Map<number, Growing>();
  readonly #places = new Places("output_index");
  readonly #thinking = new GrowingText();
  readonly #refusal = new GrowingText();
  #end: Fields | null = null;
  #isCounted = false;

  protected add(event: unknown): void {
    const sent = fieldsIn(event, "an event");
    // A server without streaming sends the response itself.
    const isResponse = sent.object === "response" || (sent.type === undefined && "output" in sent);
    const type = isResponse ? `response.${wordIn(sent.status) || "completed"}` : sent.type;
    switch (type) {
      case "response.output_text.delta": {
        const text = textOfContent(sent.delta, "output_text.delta");
        if (text !== "") this.text(this.#grown(sent).text, text);
        return;
      }
      case "response.output_text.done": {
        const { text: to } = this.#grown(sent);
        const text = textOfContent(sent.text, "output_text.text");
        if (String(to) === "" && text !== "") this.text(to, text);
        return;
      }
      case "response.function_call_arguments.delta":
        return this.grow(this.#grown(sent).json, jsonTextIn(sent.delta, "delta"));
      case "response.function_call_arguments.done": {
        const { json } = this.#grown(sent);
        if (String(json) === "") this.grow(json, jsonTextIn(sent.arguments, "arguments"));
        return;
      }
      case "response.refusal.delta":
        return this.grow(this.#refusal, textOfContent(sent.delta, "delta"));
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta": {
        const thought = thoughtIn(sent.delta);
        if (thought) this.think(this.#thinking, thought);
        return;
      }
      case "response.output_item.added":
        this.#grown(sent, true).item ??= itemIn(sent.item);
        return;
      case "response.output_item.done":
        return this.#itemEnds(sent, itemIn(sent.item));
      case "response.created":
        return this.#head(fieldsIn(sent.response, "response"));
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
        return this.#ends(isResponse ? sent : fieldsIn(sent.response, "response"), type);
      default: // The ended items contain everything else.
        nameIn(type, "an event's type");
    }
  }

  answer(): ModelAnswer | null {
    const end = this.#end;
    if (!end) return null;
    const { id, model, usage } = this;
    const items = this.#ended(end);
    const messages = items.filter(({ type }) => type === "message").map(messageOf);
    const blocks = items.map(blockOf);
    const toolUses = items.flatMap(useOf);
    const hosted = items.flatMap(hostedOf);
    const refusal =
      messages.find((message) => message.refusal !== "")?.refusal || String(this.#refusal);
    const reason = reasonOf(end);
    return {
      ...{ id, model, usage, toolUses, blocks, text: spokenIn(messages) },
      ...(hosted.length > 0 && { hosted }),
      thinking: String(this.#thinking),
      stop: refusal === "" ? stopOf(reason, toolUses.length > 0) : "refused",
      finishReason: reason ?? (wordIn(end.status) || "no reason"),
      ...(refusal !== "" && { detail: refusal.slice(0, 300) }),
      ...this.notes(this.#isCounted),
    };
  }

  #head({ id, model }: Fields): void {
    this.id ||= wordIn(id);
    this.model ||= wordIn(model);
  }

  #ends(response: Fields, type: string): void {
    this.#head(response);
    this.#count(response);
    if (type === "response.failed") throw failureOf(response);
    this.#end = response;
    this.isWhole = true;
  }

  /**
   * Returns the index of an event's item. Some servers send only the item's id, or neither the index nor the id if they
   * send one item at a time.
   */
  #indexOf({ output_index, item_id, item }: Fields, isNew = false): number {
    const id = item_id ?? (isObject(item) ? item.id : undefined);
    const known = [...this.#growing].find(([, one]) => one.item !== null && one.item.id === id);
    if (known && id !== undefined) return known[0];
    if (!isNew) return this.#places.of(output_index);
    return this.#places.begin(output_index, (place) => Boolean(this.#growing.get(place)?.item));
  }

  /** Keeps a complete item. The event may arrive twice. */
  #itemEnds(sent: Fields, item: Item): void {
    const place = this.#indexOf(sent);
    const there = this.#items.get(place);
    const isOther = there && (there.id !== item.id || there.call_id !== item.call_id);
    this.#items.set(isOther ? this.#places.begin(sent.output_index, () => true) : place, item);
  }

  #grown(sent: Fields, isNew = false): Growing {
    const index = this.#indexOf(sent, isNew);
    const one = this.#growing.get(index) ?? {
      ...{ item: null, text: new GrowingText(), json: new GrowingText() },
    };
    this.#growing.set(index, one);
    return one;
  }

  /** Returns the complete items, otherwise the items of the final response, otherwise the streamed items. */
  #ended({ output }: Fields): Item[] {
    const found = new Map(this.#items);
    const ids = new Set([...found.values()].map(({ id }) => id));
    for (const [index, item] of listIn(output, "output").map(itemIn).entries()) {
      if (!found.has(index) && !ids.has(item.id)) found.set(index, item);
    }
    const known = [...found.values()];
    for (const [index, growing] of this.#growing) {
      const item = streamedItem(found.get(index), growing, known);
      if (item) found.set(index, item);
    }
    const items = [...found].toSorted(([a], [b]) => a - b).map(([, item]) => item);
    return withIds(items.map(plainCall));
  }

  /** Reads the usage. OpenAI includes cached tokens in the input's tokens, but the ledger separates them. */
  #count({ usage }: Fields): void {
    if (!isObject(usage)) return;
    const { input_tokens_details: input, output_tokens_details: output } = usage;
    const read = isObject(input) ? countIn(input.cached_tokens) : 0;
    const write = isObject(input) ? countIn(input.cache_write_tokens) : 0;
    const isCounted = [usage.input_tokens, usage.output_tokens].map((n) => countIn(n, -1) >= 0);
    this.#isCounted = !isCounted.includes(false);
    if (!isCounted.includes(true)) return;
    this.count({
      input_tokens: Math.max(0, countIn(usage.input_tokens) - read - write),
      output_tokens: countIn(usage.output_tokens),
      thinking_tokens: isObject(output) ? countIn(output.reasoning_tokens) : 0,
      cache_read_tokens: read,
      cache_write_tokens: write,
    } satisfies Usage);
  }
}

/** Returns the item for streamed content without a complete item; null if another item has the content. */
function streamedItem(
  known: Item | undefined,
  { item, text, json }: Growing,
  others: readonly Item[],
): Item | null {
  const said = String(text) || (item?.type === "message" ? messageOf(item).text : "");
  const args = String(json) || wordIn(item?.arguments);
  const one: Item | null = known ?? item ?? (said ? { type: "message" } : null);
  if (one === null) return null;
  if (one.type === "message") {
    const texts = others.filter(({ type }) => type === "message").map(messageOf);
    if (said === "" || texts.some((other) => other.text.includes(said))) return null;
    const content = [{ type: "output_text", text: said, annotations: [] }];
    return { ...one, role: "assistant", status: "completed", content };
  }
  const isLost = known === undefined && one.type === "function_call" && args !== "";
  if (!isLost || others.some(({ call_id }) => call_id === one.call_id)) return null;
  return { ...one, status: "completed", arguments: args };
}

/** Returns a call with its arguments as JSON text. */
const plainCall = (item: Item): Item =>
  item.type === "function_call"
    ? { ...item, arguments: jsonTextIn(item.arguments, "a function call's arguments") }
    : item;

function withIds(items: Item[]): Item[] {
  const calls = items.filter(({ type }) => type === "function_call");
  const ids = idsOf(
    calls.map(({ call_id, id }) => wordIn(call_id) || wordIn(id)),
    "call_",
  );
  return items.map((item) => {
    const at = calls.indexOf(item);
    return at < 0 ? item : { ...item, call_id: ids[at] };
  });
}

function failureOf({ error }: Fields): StreamFailure {
  const { code, message } = isObject(error) ? error : {};
  return new StreamFailure({
    ...{ kind: "http", status: 0, word: wordIn(code) },
    message: wordIn(message) || "the answer failed without a reason",
  });
}

const reasonOf = ({ incomplete_details: details }: Fields): string | null =>
  isObject(details) ? reasonIn(details.reason) : null;

const stopOf = (reason: string | null, hasCalls: boolean): Stop => {
  if (reason === "max_output_tokens") return "truncated";
  if (reason === "content_filter") return "refused";
  if (reason) return "unknown";
  return hasCalls ? "tools" : "end";
};

/** Converts an item to a block with the original item, which is sent back unchanged. */
function blockOf(item: Item): Block {
  if (item.type === "message") return { type: "text", text: messageOf(item).text, item };
  const [use] = useOf(item);
  return use
    ? { type: "tool_use", id: use.id, name: use.name, input: use.input, item }
    : { type: item.type, item };
}

function useOf({ type, call_id, name, arguments: json }: Item): ToolUse[] {
  if (type !== "function_call") return [];
  const call = { id: wordIn(call_id), name: wordIn(name) };
  return [{ ...call, ...argumentsOf(wordIn(json)) }];
}

const messageOf = ({ content, phase }: Item): Said & { isAside: boolean } => {
  return { ...saidIn(content, "message.content"), isAside: phase === "commentary" };
};

/** Returns the final text of the answer, without the texts before tool calls. */
function spokenIn(messages: readonly (Said & { isAside: boolean })[]): string {
  const last = messages.filter(({ isAside }) => !isAside);
  return (last.length > 0 ? last : messages).map(({ text }) => text).join("");
}

const ownTypes = new Set(["message", "function_call", "reasoning"]);

function hostedOf({ id, type, status, ...input }: Item): HostedCall[] {
  if (ownTypes.has(type)) return [];
  const name = type.replace(/_call$/, "");
  return [{ id: wordIn(id) || type, name, input, result: wordIn(status) || "completed" }];
}
