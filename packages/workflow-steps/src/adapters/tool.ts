import {
  editFile,
  listFiles,
  readFile,
  runCommand,
  runTool,
  search,
  type ToolContext,
  type ToolRegistry,
  toolRegistry,
  undoEdit,
  withRun,
  writeFile,
} from "@uncaged/workflow-agents";
import { ownToolName } from "@uncaged/workflow-agents/interpreter";
import type { Blobs } from "@uncaged/workflow";
import type { ToolAdapter, ToolRuntime } from "../adapter/adapter.ts";
import { isPlain } from "../expression/value.ts";
import { failure } from "../document/document.ts";
import { isBuiltInTool, ownFieldNames } from "../document/tools.ts";

/** The built-in tools: `readFile`, `writeFile`, `editFile`, `undoEdit`, `listFiles`, `search` and `runCommand`. */
export const stepTools = (): ToolRegistry =>
  toolRegistry([readFile, writeFile, editFile, undoEdit, listFiles, search, runCommand()]);

/** `blobs` are those of the thread: without them nothing is kept that a tool could take back. */
export type ToolAdapterOptions = {
  cwd: string;
  env?: Readonly<Record<string, string>>;
  blobs?: Blobs;
};

/**
 * The adapter `tool` over a registry of `@uncaged/workflow-agents`. A built-in tool is also known by its
 * documented name and fields: `ReadFile {file_path}`, `EditFile {file_path, old_string, new_string}`.
 * `timeout` in the input, in milliseconds, ends the tool.
 */
export function toolAdapter(
  registry: ToolRegistry,
  { cwd, env = {}, blobs }: ToolAdapterOptions,
): ToolAdapter {
  return {
    async execute(name, input, runtime) {
      const given = isPlain(input) ? input.timeout : undefined;
      const ms = typeof given === "number" && given > 0 ? Math.min(given, longestTimer) : null;
      const late = ms === null ? null : AbortSignal.timeout(ms);
      const signal = late ? AbortSignal.any([runtime.signal, late]) : runtime.signal;
      try {
        return await run(
          registry,
          name,
          input,
          { cwd, env, signal, blobs, key: runtime.key },
          runtime,
        );
      } catch (error) {
        runtime.signal.throwIfAborted();
        if (!late?.aborted) throw error;
        const message = `the tool ${name} was stopped after ${ms} ms`;
        const hint = "allow it more with timeout, or ask for less at once";
        throw failure("TOOL_TIMEOUT", message, hint);
      }
    },
  };
}

const longestTimer = 2 ** 31 - 1;

async function run(
  registry: ToolRegistry,
  name: string,
  given: unknown,
  context: ToolContext,
  runtime: ToolRuntime,
): Promise<unknown> {
  const known = (await registry.all(context)).map((one) => one.name);
  const house = ownToolName(name, known);
  const input = isBuiltInTool(house) ? houseInput(given) : given;
  const call = {
    stepID: name,
    spent: [],
    memory: {},
    // What the tool reports goes to the step, whose own events have the rest.
    intercept: ({ type, payload }: { type: string; payload: Record<string, unknown> }) => {
      if (type === "tool_message") report(runtime, payload);
      return type.startsWith("tool_");
    },
  };
  const outcome = await withRun(call, () => runTool(registry, house, input, context));
  if (outcome.ok) return house === "runCommand" ? judged(outcome.toolResult) : outcome.toolResult;
  throw outcome.error;
}

/** A command that did not end well is a failure: whether the step goes on with it, `allowError` says. */
function judged(envelope: unknown): unknown {
  if (!isPlain(envelope) || envelope.exitCode === 0) return envelope;
  const { exitCode, result } = envelope;
  const how = typeof exitCode === "number" ? `failed with exit code ${exitCode}` : "was ended";
  // The last line of the output is the tool's own about its end.
  const [last = ""] = String(result).split("\n").slice(-2, -1);
  return { ...envelope, error: `the command ${how}${last && `: ${last}`}` };
}

function report(runtime: ToolRuntime, { level, message, data }: Record<string, unknown>): void {
  switch (level) {
    case "text":
    case "info":
    case "warn":
    case "error":
    case "progress":
      return runtime[level](String(message), data);
    default:
      return runtime.emit(String(level), data);
  }
}

/** A built-in tool's arguments with the documented names of the fields as the tool has them. */
function houseInput(input: unknown): unknown {
  if (!isPlain(input)) return input;
  const renamed = Object.entries(input).map(([name, value]) => {
    const house = ownFieldNames.get(name) ?? name;
    return [Object.hasOwn(input, house) ? name : house, value];
  });
  return Object.fromEntries(renamed);
}
