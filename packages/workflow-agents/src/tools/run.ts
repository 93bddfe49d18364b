import { isWorkflowError, WorkflowError } from "@uncaged/workflow";
import { publish } from "../call/call.ts";
import type { ToolRegistry } from "./registry.ts";
import { brief, limited, shown, textOf, whole } from "./result.ts";
import { startRuntime } from "./runtime.ts";
import type { ReadyTool, ToolContext } from "./tools.ts";

/**
 * How a tool's run ended. `content` is what a model is shown. `toolResult` is what the tool returned
 * and `output` its `result` when it has one; after an error, `{ok: false, error, tool}`.
 */
export type ToolOutcome =
  | { ok: true; content: string; output: unknown; toolResult: unknown }
  | { ok: false; content: string; output: FailedOutput; error: WorkflowError };

// A longer one would end at once.
const longestTimer = 2 ** 31 - 1;

type FailedOutput = { ok: false; error: string; tool: string };

/** `allowError` only reaches the `tool_error` event: the caller goes on after a failure. */
export type RunToolContext = ToolContext & { allowError?: boolean };

/**
 * Runs one tool of a registry: checks the arguments, gives it its time, and limits what it returned.
 * Publishes `tool_start`, `tool_message`…, then `tool_done` or `tool_error`. Never rejects; the error's
 * code is that of a `WorkflowError` that the tool threw, or one of `TOOL_UNKNOWN`, `TOOL_INPUT`,
 * `TOOL_FAILED`, `TOOL_TIMEOUT`, `TOOL_ABORTED`, `TOOL_RESULT`.
 */
export async function runTool(
  registry: ToolRegistry,
  name: string,
  input: unknown,
  context: RunToolContext,
): Promise<ToolOutcome> {
  publish("tool_start", { name, input: whole(input), inputSummary: brief(input) });
  try {
    const tool = await find(registry, name, context);
    const toolResult = await execute(tool, registry.limits.timeoutMs, input, context);
    const output = unwrapped(toolResult);
    const content = limited(textOf(output), registry.limits.maxResult);
    const told = { output: whole(output), toolResult: whole(toolResult) };
    publish("tool_done", { name, ...told, outputSummary: brief(content) });
    return { ok: true, content, output, toolResult };
  } catch (thrown) {
    return failed(name, errorOf(name, thrown), registry.limits.maxResult, context);
  }
}

async function find(registry: ToolRegistry, name: string, context: ToolContext) {
  const tools = await registry.all(context);
  const found = tools.find((tool) => tool.name === name);
  if (found) return found;
  const names = tools.map((tool) => tool.name).join(", ") || "none";
  throw toolError("TOOL_UNKNOWN", `there is no tool ${JSON.stringify(name)}`, `tools: ${names}`);
}

function execute(
  tool: ReadyTool,
  defaultMs: number,
  given: unknown,
  context: ToolContext,
): Promise<unknown> {
  const { name } = tool;
  const judged = tool.check(given);
  if (!judged.ok) {
    const hint = "call it again with arguments that fit its schema";
    throw toolError("TOOL_INPUT", `the arguments of ${name} are wrong: ${judged.problem}`, hint);
  }
  const ms = Math.min(tool.timeoutMs ?? defaultMs, longestTimer);
  return new Promise((resolve, reject) => {
    const { runtime, stop } = startRuntime(name, context);
    const over = () => {
      clearTimeout(timer);
      context.signal.removeEventListener("abort", abort);
      stop();
    };
    const abort = () => {
      over();
      reject(toolError("TOOL_ABORTED", `the tool ${name} was stopped with its thread`));
    };
    const timer = setTimeout(() => {
      over();
      const hint = "ask for less at once, or in another way";
      reject(toolError("TOOL_TIMEOUT", `the tool ${name} was stopped after ${ms} ms`, hint));
    }, ms);
    context.signal.addEventListener("abort", abort);
    if (context.signal.aborted) return abort();
    void (async () => tool.execute(judged.input, runtime))().finally(over).then(resolve, reject);
  });
}

function unwrapped(value: unknown): unknown {
  const isEnvelope = typeof value === "object" && value !== null && Object.hasOwn(value, "result");
  return isEnvelope ? (value as { result: unknown }).result : value;
}

function errorOf(name: string, thrown: unknown): WorkflowError {
  if (isWorkflowError(thrown)) return thrown;
  return toolError(
    "TOOL_FAILED",
    `the tool ${name} failed: ${messageOf(thrown)}`,
    undefined,
    thrown,
  );
}

function failed(
  name: string,
  error: WorkflowError,
  maxResult: number,
  { allowError = false }: RunToolContext,
): ToolOutcome {
  const text = [error.message, ...(error.details ?? []), error.hint].filter(Boolean).join("\n");
  const content = limited(text, maxResult);
  const output: FailedOutput = { ok: false, error: limited(error.message, maxResult), tool: name };
  publish("tool_error", {
    name,
    error: shown(error.message),
    code: error.code,
    allowError,
    output: shown(output),
    toolResult: null,
  });
  return { ok: false, content, output, error };
}

function messageOf(thrown: unknown): string {
  try {
    return (thrown instanceof Error ? thrown.message || thrown.name : String(thrown)).trim();
  } catch {
    return "it threw a value that can't be shown";
  }
}

function toolError(code: string, message: string, hint?: string, cause?: unknown): WorkflowError {
  return new WorkflowError({ code, kind: "failed", message, hint }, { cause });
}
