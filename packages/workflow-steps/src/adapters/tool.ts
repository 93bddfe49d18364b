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
import { isBuiltInTool, ownFieldNames } from "../document/tools.ts";
import { toolTimeout } from "./errors.ts";

/**
 * Returns the built-in tools: `readFile`, `writeFile`, `editFile`, `undoEdit`, `listFiles`, `search` and `runCommand`.
 */
export const stepTools = (): ToolRegistry =>
  toolRegistry([readFile, writeFile, editFile, undoEdit, listFiles, search, runCommand()]);

/** `blobs` is the blob store of the thread, required by `undoEdit`. */
export type ToolAdapterOptions = {
  cwd: string;
  env?: Readonly<Record<string, string>>;
  blobs?: Blobs;
};

/**
 * Returns a `tool` adapter over a registry of `@uncaged/workflow-agents`. A built-in tool also has its documented name
 * and fields: `ReadFile {file_path}`, `EditFile {file_path, old_string, new_string}`. `timeout` in the input limits the
 * tool, in milliseconds.
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
        throw toolTimeout(name, ms);
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
    // Forward only messages: the step publishes the other events itself.
    intercept: ({ type, payload }: { type: string; payload: Record<string, unknown> }) => {
      if (type === "tool_message") report(runtime, payload);
      return type.startsWith("tool_");
    },
  };
  const outcome = await withRun(call, () => runTool(registry, house, input, context));
  if (outcome.ok) return house === "runCommand" ? judged(outcome.toolResult) : outcome.toolResult;
  throw outcome.error;
}

/** Turns a failed command into a failed result. The step's `allowError` decides whether the step continues. */
function judged(envelope: unknown): unknown {
  if (!isPlain(envelope) || envelope.exitCode === 0) return envelope;
  const { exitCode, result } = envelope;
  const how = typeof exitCode === "number" ? `failed with exit code ${exitCode}` : "was ended";
  // The last line of the tool's result is the exit status.
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

/** Renames the documented fields of a built-in tool's input to the tool's own names. */
function houseInput(input: unknown): unknown {
  if (!isPlain(input)) return input;
  const renamed = Object.entries(input).map(([name, value]) => {
    const house = ownFieldNames.get(name) ?? name;
    return [Object.hasOwn(input, house) ? name : house, value];
  });
  return Object.fromEntries(renamed);
}
