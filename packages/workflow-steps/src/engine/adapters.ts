import { WorkflowError } from "@uncaged/workflow";
import type { Adapters, FileAdapter, ToolAdapter, ToolRuntime } from "../adapter/adapter.ts";

/** A tool of the caller's own: an envelope with `error` is a failure, its `result` the result. */
export type SimpleTool = { execute(input: unknown, runtime: ToolRuntime): unknown };

/** Tools by name: a record, or something to look them up in. */
export type Tools =
  | Readonly<Record<string, SimpleTool>>
  | { get(name: string): SimpleTool | undefined };

/** The adapters that `cwd` and `tools` stand for. */
export function adaptersFor({ cwd, tools }: { cwd?: string; tools?: Tools }): Adapters {
  return {
    ...(cwd !== undefined && { file: filesUnder(cwd) }),
    ...(tools && { tool: toolsOf(tools) }),
  };
}

function toolsOf(tools: Tools): ToolAdapter {
  return {
    async execute(name, input, runtime) {
      const tool = lookUp(tools, name);
      if (tool) return await tool.execute(input, runtime);
      throw new WorkflowError({
        code: "TOOL_UNKNOWN",
        kind: "failed",
        message: `there is no tool ${JSON.stringify(name)}`,
        hint: "give it in tools, or check the step's tool",
      });
    },
  };
}

function lookUp(tools: Tools, name: string): SimpleTool | undefined {
  if (typeof tools.get === "function") return tools.get(name);
  return Object.hasOwn(tools, name) ? (tools as Record<string, SimpleTool>)[name] : undefined;
}

// Loaded when a file is first touched: an engine without files loads nothing of Node.
function filesUnder(cwd: string): FileAdapter {
  let loaded: Promise<FileAdapter> | undefined;
  const files = (): Promise<FileAdapter> =>
    (loaded ??= import("../adapters/file.ts").then(({ fileAdapter }) => fileAdapter({ cwd })));
  return {
    read: async (path) => await (await files()).read(path),
    write: async (path, data, mode) => await (await files()).write(path, data, mode),
    exists: async (path) => await (await files()).exists(path),
    remove: async (path) => await (await files()).remove(path),
    list: async (glob) => await (await files()).list(glob),
    unzip: async (path) => (await (await files()).unzip?.(path)) ?? [],
  };
}
