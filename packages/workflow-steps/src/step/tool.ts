import type { ToolRuntime } from "../adapter/adapter.ts";
import { messageOf } from "../adapter/error.ts";
import { nameOf, type StepType } from "../document/document.ts";
import { isPlain } from "../expression/value.ts";
import { callApi } from "./api.ts";
import {
  ask,
  type Call,
  type Called,
  type Executor,
  plain,
  shown as cut,
  summary,
} from "./call.ts";
import { callDownload, callUnzip } from "./file.ts";
import { callLLM } from "./llm.ts";
import { toolFailed } from "./errors.ts";

/**
 * Runs a tool. Emits `tool_start`, `tool_message` for each progress report, then `tool_done` or `tool_error`. Emits
 * nothing after the run is aborted. With `allowError` or `continueOnError`, a failure is a result.
 */
export async function callTool(call: Call): Promise<Called> {
  const { step, inputs, signal, emit, shown, value } = call;
  const name = toolNameOf(call);
  const timeout = inputs.timeout ?? value(step.timeout);
  const input = typeof timeout === "number" ? { ...inputs, timeout } : inputs;
  emit("tool_start", { name, input: shown(input), inputSummary: summary(input) });
  let envelope: unknown = null;
  try {
    envelope = await run(call, name, input);
    const problem = failureOf(envelope);
    if (problem !== null) throw toolFailed(problem);
  } catch (error) {
    signal.throwIfAborted();
    const allowError = [step.allowError, step.continueOnError].some((one) => value(one) === true);
    const text = messageOf(error);
    const output = { ok: false, error: text, tool: name };
    const toolResult = shown(envelope);
    emit("tool_error", { name, error: text, allowError, output: shown(output), toolResult });
    if (allowError) return { locals: { _result: output, _toolResult: envelope } };
    throw error;
  }
  const output =
    isPlain(envelope) && Object.hasOwn(envelope, "result") ? envelope.result : envelope;
  const given = { output: shown(output), outputSummary: summary(output) };
  emit("tool_done", { name, ...given, toolResult: shown(envelope) });
  return { locals: { _result: output, _toolResult: envelope } };
}

/** Returns a tool's name: `tool`, otherwise `toolName`, otherwise the name in the step's id. */
export function toolNameOf({ step, value }: Pick<Call, "step" | "value">): string {
  const named = value(step.tool) ?? value(step.toolName);
  return typeof named === "string" && named !== "" ? named : nameOf(step.id);
}

async function run(call: Call, name: string, input: unknown): Promise<unknown> {
  const { runtime, end } = runtimeOf(call, name);
  try {
    const given = await ask(call, "tool", (tools) => tools.execute(name, input, runtime));
    return plain(given, `the tool ${name}`);
  } finally {
    end();
  }
}

/** Returns a tool's runtime. Drops reports after the end of the call. */
function runtimeOf(
  { emit, key, signal, shownData = cut }: Call,
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
    ...(key !== undefined && { key }),
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

function failureOf(envelope: unknown): string | null {
  if (!isPlain(envelope)) return null;
  const { error = null } = envelope;
  if (error === null || error === false || error === "") return null;
  return error === true ? "the tool reported a failure" : messageOf(error);
}

async function callNamed(
  call: Call,
  kind: "service" | "component",
  known: string[],
): Promise<unknown> {
  const name = nameOf(call.step.id, known);
  const given = await ask(call, kind, (adapter, surroundings) =>
    adapter.call(name, call.inputs, surroundings),
  );
  return plain(given, `the ${kind} ${name}`);
}

/** Calls a service or component. `_result` is the answer's `data` if that is truthy, otherwise the whole answer. */
async function callService(call: Call): Promise<Called> {
  const services = call.registry.services ?? [];
  const names = services.map((text) => text.split("(", 1)[0]?.trim() ?? "");
  const answer = await callNamed(call, "service", names);
  return { locals: { _result: isPlain(answer) && answer.data ? answer.data : answer } };
}

async function callComponent(call: Call): Promise<Called> {
  const components = call.registry.components ?? [];
  const names = components.map((one) => (typeof one === "string" ? one : one.id));
  return { locals: { _result: await callNamed(call, "component", names) } };
}

export const executors: Readonly<Partial<Record<StepType, Executor>>> = {
  Service: callService,
  API: callApi,
  Component: callComponent,
  LLM: callLLM,
  Download: callDownload,
  Unzip: callUnzip,
  Tool: callTool,
};
