import type { ToolRuntime } from "../adapter/adapter.ts";
import { messageOf } from "../adapter/error.ts";
import { failure, nameOf, type StepType } from "../document/document.ts";
import { callApi, callDownload } from "./api.ts";
import {
  adapterOf,
  type Call,
  type Called,
  type Executor,
  plain,
  shown as cut,
  summary,
  surroundingsOf,
  untilAborted,
} from "./call.ts";
import { isPlain } from "../expression/value.ts";
import { callLLM } from "./llm.ts";
import { callUnzip } from "./unzip.ts";

/**
 * Runs a tool. Emits `tool_start`, `tool_message` for what the tool reports, then `tool_done` or
 * `tool_error`; nothing more when the run was aborted. A failure is a result when the step allows it
 * with `allowError` or `continueOnError`.
 */
export async function callTool(call: Call): Promise<Called> {
  const { step, signal, emit, shown } = call;
  const name = toolNameOf(call);
  const input = inputOf(call);
  emit("tool_start", { name, input: shown(input), inputSummary: summary(input) });
  let envelope: unknown = null;
  try {
    envelope = await run(call, name, input);
    const problem = failureOf(envelope);
    if (problem !== null) throw toolError(problem);
  } catch (error) {
    signal.throwIfAborted();
    const allowError = [step.allowError, step.continueOnError].some((one) => isYes(call, one));
    const text = messageOf(error);
    const output = { ok: false, error: text, tool: name };
    const toolResult = shown(envelope);
    emit("tool_error", { name, error: text, allowError, output: shown(output), toolResult });
    if (allowError) return { locals: { _result: output, _toolResult: envelope } };
    throw error;
  }
  const output = unwrapped(envelope);
  const given = { output: shown(output), outputSummary: summary(output) };
  emit("tool_done", { name, ...given, toolResult: shown(envelope) });
  return { locals: { _result: output, _toolResult: envelope } };
}

/** A tool's name: `tool`, else `toolName`, else what the step's id names. */
export function toolNameOf({ step, value }: Pick<Call, "step" | "value">): string {
  const named = value(step.tool) ?? value(step.toolName);
  return typeof named === "string" && named !== "" ? named : nameOf(step.id);
}

const isYes = ({ value }: Call, field: unknown): boolean => value(field) === true;

function inputOf({ step, inputs, value }: Call): Record<string, unknown> {
  const timeout = value(step.timeout);
  if (inputs.timeout !== undefined || typeof timeout !== "number") return inputs;
  return { ...inputs, timeout };
}

async function run(call: Call, name: string, input: unknown): Promise<unknown> {
  const tools = adapterOf(call, "tool");
  const { runtime, end } = runtimeOf(call, name);
  try {
    const given = await untilAborted(call.signal, () => tools.execute(name, input, runtime));
    return plain(given, `the tool ${name}`);
  } finally {
    end();
  }
}

/** What a tool may report, and how to end it: what it reports later goes nowhere. */
function runtimeOf(
  { emit, signal, shownData = cut }: Call,
  name: string,
): { runtime: ToolRuntime; end: () => void } {
  let isOver = false;
  const report = (level: string, message: unknown, data: unknown): void => {
    if (isOver || signal.aborted) return;
    emit("tool_message", { name, level, message: cut(message), data: shownData(data) });
  };
  const at = (level: string) => (message: string, data?: unknown) => report(level, message, data);
  const runtime: ToolRuntime = {
    signal,
    emit: (type, payload) => {
      const message = isPlain(payload) && typeof payload.message === "string";
      report(type, message ? payload.message : type, payload);
    },
    text: at("text"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    progress: at("progress"),
  };
  return { runtime, end: () => void (isOver = true) };
}

/** Why an envelope is a failure; null when it is none. */
function failureOf(envelope: unknown): string | null {
  if (!isPlain(envelope)) return null;
  const { error = null } = envelope;
  if (error === null || error === false || error === "") return null;
  return error === true ? "the tool says that it failed" : messageOf(error);
}

const unwrapped = (envelope: unknown): unknown =>
  isPlain(envelope) && Object.hasOwn(envelope, "result") ? envelope.result : envelope;

const toolError = (message: string) =>
  failure(
    "TOOL_FAILED",
    message,
    "see the tool's own result, or let the step go on with allowError",
  );

/** Calls a service with the step's inputs. `_result` is `data` of its answer when that is truthy. */
async function callService(call: Call): Promise<Called> {
  const { step, registry, inputs, signal } = call;
  const known = (registry.services ?? []).map((text) => text.split("(", 1)[0]?.trim() ?? "");
  const name = nameOf(step.id, known);
  const service = adapterOf(call, "service");
  const around = surroundingsOf(call);
  const given = await untilAborted(signal, () => service.call(name, inputs, around));
  const answer = plain(given, `the service ${name}`);
  return { locals: { _result: isPlain(answer) && answer.data ? answer.data : answer } };
}

/** Calls a component with the step's inputs. */
async function callComponent(call: Call): Promise<Called> {
  const { step, registry, inputs, signal } = call;
  const known = (registry.components ?? []).map((one) => (typeof one === "string" ? one : one.id));
  const id = nameOf(step.id, known);
  const component = adapterOf(call, "component");
  const around = surroundingsOf(call);
  const given = await untilAborted(signal, () => component.call(id, inputs, around));
  return { locals: { _result: plain(given, `the component ${id}`) } };
}

/** Who carries out the steps that call something, by their type. */
export const executors: Readonly<Partial<Record<StepType, Executor>>> = {
  Service: callService,
  API: callApi,
  Component: callComponent,
  LLM: callLLM,
  Download: callDownload,
  Unzip: callUnzip,
  Tool: callTool,
};
