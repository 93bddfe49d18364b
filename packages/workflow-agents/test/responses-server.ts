import type { ResponseCreateParams } from "openai/resources/responses/responses";
import { responsesRefusal } from "./refusals.ts";
import {
  type Counted,
  type Protocol,
  type Reply,
  type Script,
  tokens,
  tokensOf,
  wireServer,
  type WireServer,
} from "./wire.ts";

/** Starts a server for OpenAI's Responses API without stored conversations: `POST /v1/responses`. */
export async function responsesServer(
  script: Script<ResponseCreateParams & { model: string }>,
): Promise<WireServer<ResponseCreateParams & { model: string }>> {
  const server = await wireServer(protocol(), script);
  return { ...server, url: `${server.url}/v1` };
}

type Item = { type: string; [field: string]: unknown };

const errorCodes: Record<number, string> = {
  401: "invalid_api_key",
  404: "model_not_found",
  429: "rate_limit_exceeded",
  500: "server_error",
};

function protocol(): Protocol<ResponseCreateParams & { model: string }> {
  const seen = new Set<string>();
  return {
    isAnswered: (path) => path === "/v1/responses",
    other: () => false,
    invalid: (body) => responsesRefusal(body) ?? problemIn(body.input as unknown as Item[]),
    refuse(response, { status, type, message, headers }) {
      const code = type || (errorCodes[status] ?? null);
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify({ error: { message, type: "error", param: null, code } }));
    },
    errorEvent: ({ type, message }) => event({ type: "error", code: type, message, param: null }),
    ping: ": keep-alive\n\n",
    document(body, reply, counted, nth) {
      const usage = count(body, reply, counted, seen);
      const head = { id: `resp_${nth}`, object: "response", model: body.model, store: false };
      return {
        ...{ ...head, status: "completed", output: itemsOf(reply, nth), usage },
        ...{ error: null, incomplete_details: null },
      };
    },
    *events(body, reply, { counted, reported }, nth) {
      const usage = count(body, reply, counted, seen);
      const output = itemsOf(reply, nth);
      const { stop } = reply;
      const reasons: Record<string, string> = {
        length: "max_output_tokens",
        content_filter: "content_filter",
      };
      const reason = stop === undefined ? undefined : (reasons[stop] ?? stop);
      const head = { id: `resp_${nth}`, object: "response", model: body.model, store: false };
      const begun = { ...head, created_at: 0, status: "in_progress", output: [], usage: null };
      yield event({ type: "response.created", response: begun });
      yield event({ type: "response.in_progress", response: begun });
      for (const [at, item] of output.entries()) yield* itemEvents(at, item, reply);
      if (!reply.isUncounted) Object.assign(reported, counted);
      const counts = { usage: reply.isUncounted ? null : usage };
      if (reply.failed) {
        const error = { code: reply.failed, message: "it failed" };
        yield event({
          type: "response.failed",
          response: { ...head, status: "failed", output, ...counts, error },
        });
      } else if (reason === undefined) {
        const response = {
          ...head,
          status: "completed",
          output,
          ...counts,
          incomplete_details: null,
        };
        yield event({ type: "response.completed", response });
      } else {
        const response = {
          ...head,
          status: "incomplete",
          output,
          ...counts,
          incomplete_details: { reason },
        };
        yield event({ type: "response.incomplete", response });
      }
    },
  };
}

let sequence = 0;
const event = (data: { type: string; [field: string]: unknown }) =>
  `event: ${data.type}\ndata: ${JSON.stringify({ ...data, sequence_number: sequence++ })}\n\n`;

const sealed = (thinking: string): string => `sealed:${Buffer.from(thinking).toString("base64")}`;

/** Returns the items of a model's answer. */
function itemsOf(reply: Reply, nth: number): Item[] {
  const { thinking = "", text, tools = [], detail, repeat = 1, hosted = [] } = reply;
  const items: Item[] = [];
  if (thinking) {
    const summary = [{ type: "summary_text", text: thinking }];
    items.push({
      type: "reasoning",
      id: `rs_${nth}`,
      summary,
      encrypted_content: sealed(thinking),
    });
  }
  items.push(...(hosted as Item[]));
  const content: object[] = [];
  if (text !== undefined)
    content.push({ type: "output_text", text: text.repeat(repeat), annotations: [] });
  if (detail) content.push({ type: "refusal", refusal: detail.explanation });
  if (content.length > 0) {
    items.push({
      type: "message",
      id: `msg_${nth}`,
      role: "assistant",
      status: "completed",
      content,
    });
  }
  for (const [at, { name, input = {}, json = JSON.stringify(input) }] of tools.entries()) {
    const call = { id: `fc_${nth}_${at}`, call_id: `call_${nth}_${at}`, status: "completed" };
    items.push({ type: "function_call", ...call, name, arguments: json });
  }
  return items;
}

function* itemEvents(
  output_index: number,
  item: Item,
  { repeat = 1, text = "" }: Reply,
): Iterable<string> {
  const at = { output_index, item_id: item.id };
  const begun = {
    ...item,
    status: "in_progress",
    content: [],
    summary: [],
    arguments: "",
    encrypted_content: "",
  };
  yield event({ type: "response.output_item.added", output_index, item: begun });
  if (item.type === "reasoning") {
    const [{ text: summary }] = item.summary as [{ text: string }];
    for (const delta of tokens(summary)) {
      yield event({
        type: "response.reasoning_summary_text.delta",
        ...at,
        summary_index: 0,
        delta,
      });
    }
  } else if (item.type === "message") {
    const pieces = repeat > 1 ? Array.from({ length: repeat }, () => text) : tokens(text);
    for (const delta of pieces) {
      yield event({
        type: "response.output_text.delta",
        ...at,
        content_index: 0,
        delta,
        logprobs: [],
      });
    }
  } else if (item.type === "function_call") {
    for (const delta of tokens(String(item.arguments))) {
      yield event({ type: "response.function_call_arguments.delta", ...at, delta });
    }
  }
  yield event({ type: "response.output_item.done", output_index, item });
}

/** Returns the problem of a request's conversation, or null. */
function problemIn(input: Item[]): string | null {
  for (const [at, { type, encrypted_content, summary }] of input.entries()) {
    if (type !== "reasoning") continue;
    const [{ text = "" } = {}] = summary as { text?: string }[];
    if (encrypted_content !== sealed(text)) return "The encrypted content could not be verified";
    if (input.length === at + 1)
      return "reasoning was provided without its required following item";
  }
  return null;
}

/** Counts tokens. A prefix of an earlier request counts as cached. */
function count(
  body: ResponseCreateParams,
  { thinking = "", text = "", tools = [], repeat = 1 }: Reply,
  counted: Counted,
  seen: Set<string>,
) {
  let prefix = JSON.stringify([body.instructions, body.tools ?? []]);
  let cached = 0;
  for (const item of body.input as Item[]) {
    prefix += JSON.stringify(item);
    if (seen.has(prefix)) cached = tokensOf(prefix);
    seen.add(prefix);
  }
  const input = tokensOf(prefix);
  const thought = tokensOf(thinking);
  const calls = tools.map(({ json, input: given = {} }) => tokensOf(json ?? JSON.stringify(given)));
  const output = thought + tokensOf(text) * repeat + calls.reduce((sum, one) => sum + one, 0) + 1;
  counted.input += input - cached;
  counted.cacheRead += cached;
  counted.output += output;
  counted.thinking += thought;
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: thought },
    total_tokens: input + output,
  };
}
