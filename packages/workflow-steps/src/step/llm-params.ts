import type { LLMMessage, LLMParams, LLMTool, OutputConfig } from "../adapter/adapter.ts";
import { LLMError } from "../adapter/error.ts";
import type { Call } from "./call.ts";
import type { Model } from "./model.ts";
import { isRecord } from "./plain.ts";

/** The keys of an LLM step's `in` that are the call's own; all others are its inputs. */
const own = new Set(
  `model provider system messages prompt stream tools docs output_config max_tokens temperature
   thinking`.split(/\s+/),
);

/**
 * What a model is asked, from a step's `in`: `prompt` is one user message, and with neither `messages`
 * nor `prompt` the step's other inputs are, as JSON.
 *
 * @param docs The text of the step's documents; it is put before `system`.
 * @throws LLMError `bad_request` for a field that is not of its kind.
 */
export function paramsOf(
  call: Call,
  { model, provider }: Model,
  form: OutputConfig | null,
  docs: string,
): LLMParams {
  const { inputs, step } = call;
  const { max_tokens, temperature, thinking } = inputs;
  const rest = Object.fromEntries(Object.entries(inputs).filter(([name]) => !own.has(name)));
  const system = [docs, textOf(call, "system")].filter(Boolean).join("\n\n");
  const tools = listOf(call, "tools");
  const ids = listOf(call, "docs") as number[] | undefined;
  const stream = (inputs.stream ?? call.value(step.stream)) === true;
  return {
    model,
    ...(provider !== undefined && { provider }),
    ...(system !== "" && { system }),
    messages: messagesOf(call, rest),
    stream,
    ...(tools && { tools: tools.map((one) => toolOf(one, step.id)) }),
    ...(ids && { docs: ids }),
    ...(form && { output_config: form }),
    ...(isGiven(max_tokens) && { max_tokens: numberOf(call, "max_tokens") }),
    ...(isGiven(temperature) && { temperature: numberOf(call, "temperature") }),
    ...(isGiven(thinking) && { thinking }),
    ...(Object.keys(rest).length > 0 && { inputs: rest }),
  };
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

function messagesOf(call: Call, rest: Record<string, unknown>): LLMMessage[] {
  const given = listOf(call, "messages");
  const said = (given ?? []).map((one): LLMMessage => {
    if (isRecord(one) && typeof one.role === "string" && isGiven(one.content)) {
      return one as LLMMessage;
    }
    throw bad(call, "has a message without a role or content");
  });
  if ("prompt" in call.inputs) return [...said, { role: "user", content: promptOf(call) }];
  if (given) {
    if (said.length > 0) return said;
    throw bad(call, "has no messages in its list of messages");
  }
  return [{ role: "user", content: JSON.stringify(rest) }];
}

function promptOf(call: Call): string {
  const { prompt } = call.inputs;
  const text = typeof prompt === "string" ? prompt : (JSON.stringify(prompt) ?? "null");
  if (isGiven(prompt) && text.trim() !== "") return text;
  throw bad(call, "has an empty prompt");
}

function textOf(call: Call, name: string): string {
  const text = call.inputs[name] ?? "";
  return typeof text === "string" ? text : JSON.stringify(text);
}

function listOf({ inputs, step }: Call, name: string): unknown[] | undefined {
  const list = inputs[name];
  if (!isGiven(list)) return undefined;
  if (Array.isArray(list)) return list;
  throw badParams(`${step.id}: its ${name} are no list`);
}

function numberOf({ inputs, step }: Call, name: string): number {
  const number = inputs[name];
  if (typeof number === "number" && Number.isFinite(number)) return number;
  throw badParams(`${step.id}: its ${name} is no number`);
}

/** A tool may be named by its name alone. */
function toolOf(tool: unknown, id: string): LLMTool {
  if (typeof tool === "string" && tool !== "") return { name: tool };
  if (isRecord(tool) && typeof tool.name === "string") return tool as LLMTool;
  throw badParams(`${id}: one of its tools has no name`);
}

const bad = ({ step }: Call, what: string): LLMError => badParams(`${step.id} ${what}`);

const badParams = (message: string): LLMError =>
  new LLMError("bad_request", message, { code: "BAD_PARAMS" });
