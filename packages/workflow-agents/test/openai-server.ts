import type { ChatCompletionCreateParams } from "openai/resources/chat/completions";
import { chatRefusal } from "./refusals.ts";
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

/** Starts a server for OpenAI's chat completions: `POST /v1/chat/completions`, streamed or not. */
export async function openaiServer(
  script: Script<ChatCompletionCreateParams>,
): Promise<WireServer<ChatCompletionCreateParams>> {
  const server = await wireServer(protocol(), script);
  return { ...server, url: `${server.url}/v1` };
}

const errorCodes: Record<number, string> = {
  401: "invalid_api_key",
  404: "model_not_found",
  429: "rate_limit_exceeded",
  500: "server_error",
};

function protocol(): Protocol<ChatCompletionCreateParams> {
  const seen = new Set<string>();
  return {
    isAnswered: (path) => path === "/v1/chat/completions",
    other: () => false,
    invalid: chatRefusal,
    refuse(response, { status, type, message, headers }) {
      const code = type || (errorCodes[status] ?? null);
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify({ error: { message, type: "error", param: null, code } }));
    },
    errorEvent: ({ type, message }) => event({ error: { message, type, code: type } }),
    ping: ": keep-alive\n\n",
    document(body, reply, counted, nth) {
      const { text = null, tools } = reply;
      const usage = count(body, reply, counted, seen);
      const message = { role: "assistant", content: text, tool_calls: tools?.map(call(nth)) };
      const choice = { index: 0, message, finish_reason: finishOf(reply), logprobs: null };
      return { ...head(body, nth), object: "chat.completion", choices: [choice], usage };
    },
    *events(body, reply, { counted, reported }, nth) {
      const usage = count(body, reply, counted, seen);
      const chunk = (delta: object, finish_reason: string | null = null) =>
        event({
          ...head(body, nth),
          object: "chat.completion.chunk",
          choices: [{ index: 0, delta, finish_reason, logprobs: null }],
        });
      const { thinking = "", text = "", tools = [], repeat = 1, detail } = reply;
      yield chunk({ role: "assistant", content: "" });
      for (const reasoning_content of tokens(thinking)) yield chunk({ reasoning_content });
      if (detail) yield chunk({ refusal: detail.explanation });
      const pieces = repeat > 1 ? Array.from({ length: repeat }, () => text) : tokens(text);
      for (const content of pieces) yield chunk({ content });
      for (const [index, tool] of tools.entries()) {
        const { id, type, function: made } = call(nth)(tool, index);
        const begun = { index, id, type, function: { name: made.name, arguments: "" } };
        yield chunk({ tool_calls: [begun] });
        for (const part of tokens(made.arguments)) {
          yield chunk({ tool_calls: [{ index, function: { arguments: part } }] });
        }
      }
      yield chunk({}, finishOf(reply));
      if (body.stream_options?.include_usage && !reply.isUncounted) {
        Object.assign(reported, counted);
        yield event({ ...head(body, nth), object: "chat.completion.chunk", choices: [], usage });
      }
      yield "data: [DONE]\n\n";
    },
  };
}

const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`;

const head = ({ model }: ChatCompletionCreateParams, nth: number) => {
  return { id: `chatcmpl-${nth}`, created: 0, model };
};

const finishOf = ({ stop, tools = [] }: Reply) =>
  stop ?? (tools.length > 0 ? "tool_calls" : "stop");

const call =
  (nth: number) =>
  ({ name, input, json }: NonNullable<Reply["tools"]>[number], at: number) => {
    const made = { name, arguments: json ?? JSON.stringify(input ?? {}) };
    return { id: `call_${nth}_${at}`, type: "function", function: made };
  };

/** Counts tokens. A prefix of an earlier request counts as cached. */
function count(
  body: ChatCompletionCreateParams,
  { thinking = "", text = "", tools = [], repeat = 1 }: Reply,
  counted: Counted,
  seen: Set<string>,
) {
  let prefix = JSON.stringify(body.tools ?? []);
  let cached = 0;
  for (const message of body.messages) {
    prefix += JSON.stringify(message);
    if (seen.has(prefix)) cached = tokensOf(prefix);
    seen.add(prefix);
  }
  const prompt = tokensOf(prefix);
  const thought = tokensOf(thinking);
  const calls = tools.map(({ json, input = {} }) => tokensOf(json ?? JSON.stringify(input)));
  const output = thought + tokensOf(text) * repeat + calls.reduce((sum, one) => sum + one, 0) + 1;
  counted.input += prompt - cached;
  counted.cacheRead += cached;
  counted.output += output;
  counted.thinking += thought;
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: thought },
  };
}
