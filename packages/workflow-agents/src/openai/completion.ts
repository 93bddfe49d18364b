import type { Usage } from "@uncaged/workflow";
import type {
  ChatCompletionAssistantMessageParam,
  ChatCompletionContentPart,
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";
import { StreamFailure } from "../llm/error.ts";
import {
  countIn,
  type Fields,
  fieldsIn,
  jsonTextIn,
  kindOf,
  listIn,
  reasonIn,
  saidIn,
  textOfContent,
  thoughtIn,
  UnreadableContent,
  wordIn,
} from "../content/sent.ts";
import { isObject, oneLine } from "../run/error.ts";
import { Accumulator, argumentsOf, GrowingText, idsOf, isObjectText } from "../llm/accumulator.ts";
import { splitThinking, ThinkTags } from "../content/think.ts";
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
import { blockNotSendable, noHostedTools } from "./errors.ts";

const longestDescription = 1024;

/** Returns a request for chat completions, without the fields that the server has refused. */
export function bodyOf(
  request: ModelRequest,
  official: boolean,
  refused: ReadonlySet<string> = new Set(),
): ChatCompletionCreateParamsStreaming {
  const { model, system, messages, tools, maxTokens, temperature, effort, format } = request;
  if (request.hostedTools && request.hostedTools.length > 0) {
    throw noHostedTools();
  }
  const maxTokensWord =
    official || refused.has("max_tokens") ? "max_completion_tokens" : "max_tokens";
  const turns = messages.flatMap((message) => paramsOf(message, refused));
  const first: ChatCompletionMessageParam[] = system ? [{ role: "system", content: system }] : [];
  return {
    model,
    messages: [...first, ...turns],
    stream: true,
    ...(!refused.has("stream_options") && { stream_options: { include_usage: true } }),
    ...(maxTokens && { [maxTokensWord]: maxTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(effort && { reasoning_effort: effort }),
    ...(format && { response_format: formatOf(format) }),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description: whole, input_schema: parameters }) => {
        const isCut = refused.has("descriptions") && whole.length > longestDescription;
        const description = isCut
          ? `${whole.slice(0, longestDescription - 1).toWellFormed()}…`
          : whole;
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

function paramsOf(message: Message, refused: ReadonlySet<string>): ChatCompletionMessageParam[] {
  const blocks = blocksOf(message);
  if (message.role === "system") return [{ role: "system", content: textOf(blocks) }];
  if (message.role === "assistant") {
    const own = assistantOf(blocks, refused);
    return own.content === null && own.tool_calls === undefined ? [] : [own];
  }
  const results = blocks.filter(({ type }) => type === "tool_result");
  const others = blocks.filter(({ type }) => type !== "tool_result");
  // Blocks of one message stay separate, as in requests to Anthropic.
  const isText = others.every(({ type }) => type === "text");
  const own = isText ? textOf(blocks, "\n\n") : others.map(partOf);
  return [
    ...results.map(({ tool_use_id, content, is_error }): ChatCompletionMessageParam => {
      // The protocol does not have a field for failed tool calls.
      const failed = is_error === true ? "error: " : "";
      return { role: "tool", tool_call_id: String(tool_use_id), content: failed + String(content) };
    }),
    ...results.flatMap(pictured),
    ...(own.length > 0 ? [{ role: "user" as const, content: own }] : []),
  ];
}

/** Returns a user's message with the pictures and documents of a tool result, which a tool's message cannot contain. */
function pictured({ tool_use_id, parts }: Block): ChatCompletionMessageParam[] {
  if (!Array.isArray(parts)) return [];
  const text = `The result of the tool call ${String(tool_use_id)}:`;
  return [{ role: "user", content: [{ type: "text", text }, ...(parts as Block[]).map(partOf)] }];
}

/**
 * Converts a block to a part of a user's message: text, a picture or document in Anthropic's format, or a part in
 * OpenAI's format.
 */
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
    throw blockNotSendable(type, kind, "chat completions");
  }
  if (type === "image") return { type: "image_url", image_url: { url: address } };
  const filename = typeof title === "string" ? title : "document.pdf";
  return { type: "file", file: { file_data: address, filename } };
}

export const titledText = (title: unknown, text: unknown): string =>
  typeof title === "string"
    ? `<file name=${JSON.stringify(title)}>\n${String(text)}\n</file>`
    : String(text);

function assistantOf(
  blocks: readonly Block[],
  refused: ReadonlySet<string>,
): ChatCompletionAssistantMessageParam {
  const calls = blocks.filter(({ type }) => type === "tool_use");
  const text = textOf(blocks);
  const reasoning = blocks.find(({ type }) => type === reasoningType);
  return {
    role: "assistant",
    content: text || null,
    ...(refused.has("reasoning_content") && { reasoning_content: wordIn(reasoning?.text) }),
    ...(refused.has("reasoning_details") &&
      reasoning?.details !== undefined && { reasoning_details: reasoning.details }),
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ id, name, input, extra_content }) => ({
        id: String(id),
        type: "function" as const,
        function: { name: String(name), arguments: JSON.stringify(input) },
        ...(extra_content !== undefined && { extra_content }),
      })),
    }),
  };
}

/**
 * A tool call that is being received. `next` is a name that arrived after complete arguments. If more arguments follow,
 * the name belongs to the next call. `extra` has Google's signature of the call, without which Google refuses the
 * call's result.
 */
type Call = {
  index: number | null;
  id: string;
  name: string;
  json: GrowingText;
  next?: string;
  extra?: Fields;
};

/** The type of the block with the model's thinking before its calls. */
const reasoningType = "uncaged_reasoning";

/** Fields of a delta that do not have content of the answer. */
const silent = new Set([
  ...["role", "name", "annotations", "reasoning_signature", "citations"],
  ...["logprobs", "provider_specific_fields", "extra_content", "thinking_blocks", "index"],
]);

/**
 * Builds an answer from a chat completion, streamed or as a document. The usage comes last, so the usage of an answer
 * that broke off is unknown.
 */
export class CompletionAccumulator extends Accumulator {
  readonly #text = new GrowingText();
  readonly #thinking = new GrowingText();
  readonly #refusal = new GrowingText();
  readonly #thinkTags = new ThinkTags();
  readonly #calls: Call[] = [];
  readonly #details: unknown[] = [];
  #finishReason: string | null = null;
  #isCounted = false;

  protected add(chunk: unknown, isWhole: boolean): void {
    const { id, model, choices, usage } = fieldsIn(chunk, "a chunk");
    if (isWhole && !Array.isArray(choices)) {
      const sent = oneLine(JSON.stringify(chunk), 200);
      throw new UnreadableContent("choices", `${notList(choices)}: ${sent}`);
    }
    this.id ||= wordIn(id);
    this.model ||= wordIn(model);
    const choice = fieldsIn(listIn(choices, "choices")[0], "choices[0]");
    this.#delta(fieldsIn(choice.delta ?? choice.message, "delta"));
    this.#content(choice.text, "choices[0].text");
    this.#finishReason = reasonIn(choice.finish_reason) || this.#finishReason;
    const counts = [usage, choice.usage].find(isObject);
    if (!counts) return;
    const isCounted = [counts.prompt_tokens, counts.completion_tokens].map(
      (n) => countIn(n, -1) >= 0,
    );
    if (isCounted.includes(true)) this.count(usageOf(counts));
    this.#isCounted ||= !isCounted.includes(false);
  }

  // Some servers do not send a finish reason. Then the usage, which comes last, shows that the answer is complete.
  protected override get isOverAtDone(): boolean {
    return this.#finishReason !== null || this.#isCounted;
  }

  answer(): ModelAnswer | null {
    const finishReason = this.#finishReason;
    if (finishReason === null && !this.isWhole) return null;
    const { id, model, usage } = this;
    if (finishReason !== null && brokenOff.has(finishReason.toLowerCase())) {
      const word = finishReason.toLowerCase();
      throw new StreamFailure({ kind: "http", status: 0, word, message: "the answer broke off" });
    }
    this.#say(this.#thinkTags.rest());
    const { text, thinking } = splitThinking(String(this.#text));
    if (thinking) this.#thinking.add(thinking);
    const refusal = String(this.#refusal);
    const calls = this.#calls.filter(({ id: call, name, json }) => call || name || String(json));
    const ids = idsOf(
      calls.map((call) => call.id),
      "call_",
    );
    const toolUses = calls.map(({ name, json }, at): ToolUse => {
      return { id: ids[at] ?? "", name, ...argumentsOf(String(json)) };
    });
    const uses = toolUses.map(({ id: call, name, input, exact }, at): Block => {
      const { extra } = calls[at] as Call;
      return {
        ...{ type: "tool_use", id: call, name, input },
        ...(exact !== undefined && { exact }),
        ...(extra !== undefined && { extra_content: extra }),
      };
    });
    return {
      ...{ id, model, usage, text, toolUses },
      finishReason: finishReason ?? "no reason",
      blocks: [
        ...(uses.length > 0 ? this.#reasoning() : []),
        ...(text ? [{ type: "text", text }] : []),
        ...uses,
      ],
      thinking: String(this.#thinking),
      stop: refusal ? "refused" : stopOf(finishReason, toolUses.length > 0),
      ...(refusal && { detail: refusal.slice(0, 300) }),
      ...this.notes(this.#isCounted),
    };
  }

  /** Returns the reasoning before a call. Some servers require it with the call's result. */
  #reasoning(): Block[] {
    const text = String(this.#thinking);
    const details = this.#details;
    if (text === "" && details.length === 0) return [];
    return [{ type: reasoningType, text, ...(details.length > 0 && { details }) }];
  }

  // Other servers than OpenAI's send reasoning as `reasoning_content` or `reasoning`.
  #delta({ content, refusal, tool_calls, function_call, ...delta }: Fields): void {
    this.#content(content, "delta.content");
    const { reasoning_content, reasoning, reasoning_details, thinking, ...others } = delta;
    if (Array.isArray(reasoning_details)) this.#details.push(...(reasoning_details as unknown[]));
    const thought = thoughtIn(reasoning_content ?? reasoning ?? thinking);
    if (thought) this.think(this.#thinking, thought);
    const refused = saidIn(refusal, "delta.refusal");
    this.grow(this.#refusal, refused.text + refused.refusal);
    const sent = [tool_calls ?? [], function_call ?? []].flat();
    for (const one of sent) this.#call(fieldsIn(one, "delta.tool_calls[0]"));
    for (const [key, value] of Object.entries(others)) {
      if (!silent.has(key) && hasContent(value)) this.leave(`delta.${key}`);
    }
  }

  #content(content: unknown, field: string): void {
    const said = saidIn(content, field);
    if (said.text) this.#say(this.#thinkTags.split(said.text));
    if (said.thinking) this.think(this.#thinking, said.thinking);
    this.grow(this.#refusal, said.refusal);
  }

  #say({ text, thinking }: { text: string; thinking: string }): void {
    if (thinking) this.think(this.#thinking, thinking);
    if (text) this.text(this.#text, text);
  }

  #call(sent: Fields): void {
    const made = fieldsIn(sent.function ?? sent, "tool_calls.function");
    const name = textOfContent(made.name, "tool_calls.function.name");
    const json = jsonTextIn(made.arguments, "tool_calls.function.arguments");
    const index = typeof sent.index === "number" ? sent.index : null;
    const id = wordIn(sent.id);
    const known = this.#known(index, id);
    const named = name || (known?.next ?? "");
    const isWhole = known !== undefined && named !== "" && isObjectText(String(known.json));
    // A second name after complete arguments starts another call, which reuses the index, or even the id, of the
    // earlier call.
    const isNext = isWhole && json !== "";
    if (isNext && id !== "" && known.name === name && String(known.json) === json) return;
    const call: Call =
      known && !isNext ? known : { index, id, name: named, json: new GrowingText() };
    if (call !== known) this.#calls.push(call);
    else if (isWhole) call.next = named;
    call.id ||= id;
    call.name ||= name;
    if (isObject(sent.extra_content)) call.extra = sent.extra_content;
    this.grow(call.json, json);
  }

  /**
   * Returns the call to which a piece belongs. Some servers omit the index, or use one index for all calls of an
   * answer.
   */
  #known(index: number | null, id: string): Call | undefined {
    const calls = this.#calls;
    const own = id === "" ? undefined : calls.findLast((call) => call.id === id);
    if (own) return own;
    const last = index === null ? calls.at(-1) : calls.findLast((call) => call.index === index);
    return id !== "" && last && (last.id !== "" || index === null) ? undefined : last;
  }
}

const notList = (value: unknown): string => {
  const kind = kindOf(value);
  return kind === "missing" ? "is missing" : `is ${kind}, not a list`;
};

const hasContent = (value: unknown): boolean =>
  typeof value === "object" && value !== null
    ? Object.values(value).some(hasContent)
    : value !== null && value !== undefined && value !== "";

/** Finish reasons of incomplete answers. */
const brokenOff = new Set([
  ...["error", "abort", "network_error", "malformed_function_call"],
  "insufficient_system_resource",
]);

const stops: Record<string, Stop> = {
  ...{ stop: "end", end: "end", eos: "end", eos_token: "end", end_turn: "end" },
  ...{ stop_sequence: "end", completed: "end", complete: "end" },
  ...{ tool_calls: "tools", tool_call: "tools", tool_use: "tools", function_call: "tools" },
  ...{ length: "truncated", max_tokens: "truncated", model_length: "truncated" },
  ...{ content_filter: "refused", safety: "refused", sensitive: "refused", refusal: "refused" },
};

function stopOf(given: string | null, hasUses: boolean): Stop {
  if (given === null) return hasUses ? "tools" : "end";
  const reason = given.toLowerCase();
  return (Object.hasOwn(stops, reason) ? stops[reason] : null) ?? "unknown";
}

/** Returns the usage. OpenAI includes cached tokens in the prompt's tokens, but the ledger separates them. */
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
