import type { ServerResponse } from "node:http";
import type { MessageCreateParams } from "@anthropic-ai/sdk/resources/messages/messages";
import { anthropicRefusal } from "./refusals.ts";
import {
  type Counted,
  type Fault,
  type Protocol,
  type Reply,
  type Script,
  tokens,
  tokensOf,
  wireServer,
  type WireServer,
} from "./wire.ts";

/** The received count requests, and the faults for the next count requests. */
export type Counting = {
  counts: { body: unknown }[];
  refuseCounts: (fault: CountFault) => void;
};

type CountFault = Extract<Fault, { kind: "status" | "page" | "hang" }>;

/** Starts a server for the Anthropic Messages API: `POST /v1/messages`, streamed or not, with token counting. */
export async function anthropicServer(
  script: Script<MessageCreateParams>,
): Promise<WireServer<MessageCreateParams> & Counting> {
  const counts: { body: unknown }[] = [];
  let fault: CountFault | null = null;
  const spoken = protocol((body, response) => {
    counts.push({ body });
    if (fault?.kind === "status") spoken.refuse(response, fault);
    else if (fault?.kind === "page") response.writeHead(fault.status).end(fault.body);
    else if (fault === null) json(response, 200, { input_tokens: countOf(body) });
  });
  const server = await wireServer(spoken, script);
  return { ...server, counts, refuseCounts: (next) => void (fault = next) };
}

const countOf = (body: unknown): number =>
  tokensOf([...blocksOf(body as MessageCreateParams)].map((one) => JSON.stringify(one)).join(""));

// The documented error type of each status: https://platform.claude.com/docs/en/api/errors
const errorTypes: Record<number, string> = {
  400: "invalid_request_error",
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error",
  500: "api_error",
  529: "overloaded_error",
};

function protocol(
  count: (body: unknown, response: ServerResponse) => void,
): Protocol<MessageCreateParams> {
  const cache = new Cached();
  const whole = (body: MessageCreateParams, reply: Reply, counted: Counted, nth: number) =>
    message(body, reply, counted, nth, cache);
  return {
    invalid: anthropicRefusal,
    isAnswered: (path) => /^\/v1\/messages(\?.*)?$/.test(path),
    other({ path, body }, response) {
      if (!path.startsWith("/v1/messages/count_tokens")) return false;
      count(body, response);
      return true;
    },
    refuse(response, { status, type, message: says, headers }) {
      const word = type || (errorTypes[status] ?? "api_error");
      const error = { type: word, message: says };
      json(response, status, { type: "error", error, request_id: "req_test" }, headers);
    },
    errorEvent: ({ type, message: says }) =>
      event({ type: "error", error: { type, message: says } }),
    ping: event({ type: "ping" }),
    document: whole,
    *events(body, reply, { counted, reported }, nth) {
      const { content, usage, stop_reason, stop_details, ...head } = whole(
        body,
        reply,
        counted,
        nth,
      );
      const { output_tokens, output_tokens_details, ...input } = usage;
      const start = {
        ...head,
        content: [],
        stop_reason: null,
        usage: { ...input, output_tokens: 1 },
      };
      Object.assign(reported, counted, { output: 1, thinking: 0 });
      yield event({ type: "message_start", message: start });
      yield event({ type: "ping" });
      for (const [index, block] of content.entries()) yield* blockEvents(index, block, reply);
      const container = reply.container === undefined ? null : { id: reply.container };
      const delta = { stop_reason, stop_sequence: null, stop_details, container };
      const total = { ...input, output_tokens, output_tokens_details };
      Object.assign(reported, counted);
      yield event({ type: "message_delta", delta, usage: total });
      yield event({ type: "message_stop" });
    },
  };
}

type AgentOutput =
  | { type: "text"; text: string }
  | { type: "thinking"; thinking: string; signature: string }
  | { type: "hosted"; block: { type: string; input?: object } }
  | { type: "tool_use"; id: string; name: string; input: object; json: string };

function message(
  body: MessageCreateParams,
  reply: Reply,
  counted: Counted,
  nth: number,
  cache: Cached,
) {
  const { thinking = "", text = "", tools = [], detail } = reply;
  const content: AgentOutput[] = [];
  if (thinking) content.push({ type: "thinking", thinking, signature: `signed:${thinking}` });
  for (const block of (reply.hosted ?? []) as { type: string }[])
    content.push({ type: "hosted", block });
  if (text) content.push({ type: "text", text });
  for (const [at, { name, input = {}, json: given }] of tools.entries()) {
    const id = `toolu_${nth}_${at}`;
    content.push({ type: "tool_use", id, name, input, json: given ?? JSON.stringify(input) });
  }
  const thought = tokensOf(thinking);
  const calls = tools.map((one) => tokensOf(one.json ?? JSON.stringify(one.input ?? {})));
  const said = tokensOf(text) * (reply.repeat ?? 1) + calls.reduce((sum, one) => sum + one, 0);
  const { input, read, write } = cache.count(body);
  const usage = {
    input_tokens: input,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: write,
    output_tokens: thought + said + 1,
    output_tokens_details: { thinking_tokens: thought },
  };
  counted.input += usage.input_tokens;
  counted.cacheRead += read;
  counted.cacheWrite += write;
  counted.output += usage.output_tokens;
  counted.thinking += thought;
  return {
    id: `msg_${nth}`,
    type: "message",
    role: "assistant",
    model: body.model,
    content,
    usage,
    stop_reason: reply.stop ?? (tools.length > 0 ? "tool_use" : "end_turn"),
    stop_sequence: null,
    stop_details: detail ? { type: "refusal", ...detail } : null,
  };
}

function* blockEvents(index: number, block: AgentOutput, { repeat = 1 }: Reply): Iterable<string> {
  const delta = (one: object) => event({ type: "content_block_delta", index, delta: one });
  const start = (content_block: object) =>
    event({ type: "content_block_start", index, content_block });
  if (block.type === "text") {
    yield start({ type: "text", text: "" });
    const pieces =
      repeat > 1 ? Array.from({ length: repeat }, () => block.text) : tokens(block.text);
    for (const text of pieces) yield delta({ type: "text_delta", text });
  } else if (block.type === "thinking") {
    yield start({ type: "thinking", thinking: "", signature: "" });
    for (const thinking of tokens(block.thinking))
      yield delta({ type: "thinking_delta", thinking });
    yield delta({ type: "signature_delta", signature: block.signature });
  } else if (block.type === "hosted") {
    const { input, ...rest } = block.block;
    yield start(input ? { ...rest, input: {} } : rest);
    for (const part of tokens(input ? JSON.stringify(input) : ""))
      yield delta({ type: "input_json_delta", partial_json: part });
  } else {
    const { id, name } = block;
    yield start({ type: "tool_use", id, name, input: {} });
    for (const part of tokens(block.json))
      yield delta({ type: "input_json_delta", partial_json: part });
  }
  yield event({ type: "content_block_stop", index });
}

const event = (data: { type: string; [field: string]: unknown }) =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;

function json(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

const lookback = 20;

/**
 * Counts a request's tokens as the API does. Content before a `cache_control` is cached. A later request reads the
 * content if it has a `cache_control` there, or at most 20 blocks later.
 */
class Cached {
  readonly #kept = new Set<string>();

  count(body: MessageCreateParams): { input: number; read: number; write: number } {
    let prefix = "";
    let read = 0;
    let last = 0;
    const before: string[] = [];
    const written: string[] = [];
    for (const block of blocksOf(body)) {
      const { cache_control, ...rest } = block;
      prefix += JSON.stringify(rest);
      before.push(prefix);
      if (!cache_control) continue;
      last = tokensOf(prefix);
      written.push(prefix);
      const known = before.slice(-1 - lookback).findLast((one) => this.#kept.has(one));
      if (known !== undefined) read = Math.max(read, tokensOf(known));
    }
    for (const one of written) this.#kept.add(one);
    const write = Math.max(0, last - read);
    return { input: Math.max(0, tokensOf(prefix) - read - write), read, write };
  }
}

type Part = { cache_control?: unknown; [field: string]: unknown };

export function* blocksOf(body: MessageCreateParams): Iterable<Part> {
  const lists: unknown[] = [body.tools, body.system, ...body.messages.map((one) => one.content)];
  for (const list of lists) {
    if (typeof list === "string") yield { text: list };
    else yield* (list ?? []) as Part[];
  }
}
