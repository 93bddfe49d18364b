import type { Usage } from "@uncaged/workflow";
import type {
  Response,
  ResponseCreateParamsStreaming,
  ResponseInputContent,
  ResponseInputItem,
  ResponseOutputItem,
  ResponseStreamEvent,
  Tool,
} from "openai/resources/responses/responses";
import { Accumulator, argumentsOf, GrowingText } from "../llm/accumulator.ts";
import { ProviderError, StreamFailure } from "../llm/error.ts";
import type { Asked } from "../llm/form.ts";
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

const encrypted = "reasoning.encrypted_content" as const;

/**
 * A request of the Responses API. Nothing is stored there: the conversation is ours, and what the model reasoned comes back
 * encrypted, where it knows how (`isEncrypted`), and is sent with the next turn.
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
    // Without the word it would be strict: then a schema may say less.
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

/** What the model itself said, as it said it; reasoning that nobody can read any more is left out. */
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
  // The protocol has no word for a failed tool.
  const text = (is_error === true ? "error: " : "") + String(content);
  const output = Array.isArray(parts)
    ? [{ type: "input_text" as const, text }, ...(parts as Block[]).map(contentOf)]
    : text;
  return { type: "function_call_output", call_id: String(tool_use_id), output };
}

/** A block as content of a user's message: text, a picture or a document as Anthropic has them, or one of OpenAI's own. */
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
    const message = `a block of type ${type} from ${String(kind)} can't be sent to the Responses API`;
    throw new ProviderError("LLM_BAD_REQUEST", message);
  }
  if (type === "image") return { type: "input_image", detail: "auto", image_url: address };
  if (kind === "url") return { type: "input_file", file_url: address };
  const filename = typeof title === "string" ? title : "document.pdf";
  return { type: "input_file", filename, file_data: address };
}

/** An answer of the Responses API as it is streamed: its items as they end, its counts last. */
export class ResponseAccumulator extends Accumulator<ResponseStreamEvent> {
  readonly #items: ResponseOutputItem[] = [];
  readonly #thinking = new GrowingText();
  /** Counted, and taken from the items when they are whole. */
  readonly #pieces = new GrowingText();
  #end: Response | null = null;

  add(event: ResponseStreamEvent): void {
    switch (event.type) {
      case "response.output_text.delta":
        return this.text(this.#pieces, event.delta);
      case "response.function_call_arguments.delta":
      case "response.refusal.delta":
        return this.grow(this.#pieces, event.delta);
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        return this.think(this.#thinking, event.delta);
      case "response.output_item.done":
        this.#items[event.output_index] = event.item;
        return;
      case "response.created":
        this.id = event.response.id;
        this.model = event.response.model;
        return;
      case "response.completed":
      case "response.incomplete":
        this.#end = event.response;
        return this.#count(event.response);
      case "response.failed":
        this.#count(event.response);
        throw failureOf(event.response);
      default: // All else is in the items, when they end.
    }
  }

  answer(): ModelAnswer | null {
    const end = this.#end;
    if (!end) return null;
    const { id, model, usage } = this;
    const items = this.#items.filter(Boolean);
    const blocks = items.map(blockOf);
    const toolUses = items.flatMap(useOf);
    const hosted = items.flatMap(hostedOf);
    const refusal = refusalIn(items);
    const reason = end.incomplete_details?.reason;
    return {
      ...{ id, model, usage, toolUses, blocks, text: spokenIn(items) },
      ...(hosted.length > 0 && { hosted }),
      thinking: String(this.#thinking),
      stop: refusal === null ? stopOf(end, toolUses.length > 0) : "refused",
      finishReason: reason ?? end.status ?? "no reason",
      ...(refusal !== null && { detail: refusal.slice(0, 300) }),
    };
  }

  /** OpenAI counts cached tokens as part of the input's; the ledger keeps them apart. */
  #count({ usage }: Response): void {
    if (!usage) return;
    const read = usage.input_tokens_details?.cached_tokens ?? 0;
    const write = usage.input_tokens_details?.cache_write_tokens ?? 0;
    this.count({
      input_tokens: Math.max(0, usage.input_tokens - read - write),
      output_tokens: usage.output_tokens,
      thinking_tokens: usage.output_tokens_details?.reasoning_tokens ?? 0,
      cache_read_tokens: read,
      cache_write_tokens: write,
    } satisfies Usage);
  }
}

const failureOf = ({ error }: Response): StreamFailure =>
  new StreamFailure({
    ...{ kind: "http", status: 0, word: error?.code ?? "" },
    message: error?.message ?? "the answer failed, and no reason was given",
  });

const stopOf = ({ incomplete_details }: Response, hasCalls: boolean): Stop => {
  const reason = incomplete_details?.reason;
  if (reason === "max_output_tokens") return "truncated";
  if (reason === "content_filter") return "refused";
  if (reason) return "unknown";
  return hasCalls ? "tools" : "end";
};

/** An item as a block that is handed back as it came. */
function blockOf(item: ResponseOutputItem): Block {
  if (item.type === "message") return { type: "text", text: spokenIn([item]), item };
  const [use] = useOf(item);
  return use
    ? { type: "tool_use", id: use.id, name: use.name, input: use.input, item }
    : { type: item.type, item };
}

function useOf(item: ResponseOutputItem): ToolUse[] {
  if (item.type !== "function_call") return [];
  return [{ id: item.call_id, name: item.name, ...argumentsOf(item.arguments) }];
}

/** What the model says in the end: not what it says on the way there. */
function spokenIn(items: readonly ResponseOutputItem[]): string {
  const messages = items.filter((item) => item.type === "message");
  const last = messages.filter(({ phase }) => phase !== "commentary");
  return (last.length > 0 ? last : messages)
    .flatMap(({ content }) => content)
    .map((part) => (part.type === "output_text" ? part.text : ""))
    .join("");
}

function refusalIn(items: readonly ResponseOutputItem[]): string | null {
  const parts = items.flatMap((item) => (item.type === "message" ? item.content : []));
  const refusal = parts.find((part) => part.type === "refusal");
  return refusal?.type === "refusal" ? refusal.refusal : null;
}

const ownTypes = new Set(["message", "function_call", "reasoning"]);

function hostedOf(item: ResponseOutputItem): HostedCall[] {
  if (ownTypes.has(item.type)) return [];
  const { id, type, status, ...input } = item as { id?: string; type: string; status?: string };
  return [
    { id: id ?? type, name: type.replace(/_call$/, ""), input, result: status ?? "completed" },
  ];
}
