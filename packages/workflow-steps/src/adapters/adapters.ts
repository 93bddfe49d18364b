import type { Step, WorkflowOptions } from "@uncaged/workflow";
import {
  anthropicModels,
  type Models,
  openaiModels,
  type ToolRegistry,
} from "@uncaged/workflow-agents";
import type { Adapters } from "../adapter/adapter.ts";
import type { RegistryDocument } from "../document/format.ts";
import { apiAdapter } from "./api.ts";
import { docAdapter } from "./doc.ts";
import { fileAdapter } from "./file.ts";
import { modelAdapter } from "./model.ts";
import { stepTools, toolAdapter } from "./tool.ts";

/**
 * Options of `run`, the thread's initial steps and the workflow's registry. `models` and `tools` replace the built-in
 * adapters.
 */
export type DefaultAdapters = {
  options: Partial<WorkflowOptions>;
  steps?: readonly Step[];
  registry?: RegistryDocument;
  models?: readonly Models[];
  tools?: ToolRegistry;
};

/**
 * Returns the default adapters of a thread: models, files and documents under its directory, HTTP, and the built-in
 * tools. Services and components have no default.
 */
export function defaultAdapters(given: DefaultAdapters): Adapters {
  const { options, steps, registry = {}, tools = stepTools() } = given;
  const { models = [anthropicModels(), openaiModels()] } = given;
  const adapters = { llm: modelAdapter({ models, options, steps, tools }), api: apiAdapter() };
  const { cwd } = options;
  if (cwd === undefined) return adapters;
  return {
    ...adapters,
    file: fileAdapter({ cwd }),
    doc: docAdapter({ cwd, docs: registry.docs }),
    tool: toolAdapter(tools, { cwd, env: options.env, blobs: options.blobs }),
  };
}
