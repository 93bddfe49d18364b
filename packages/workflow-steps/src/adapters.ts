// The default adapters: what a bundle's interpreter reaches the world with.

export { type DefaultAdapters, defaultAdapters } from "./adapters/adapters.ts";
export { apiAdapter, type ApiAdapterOptions } from "./adapters/api.ts";
export { docAdapter, type DocAdapterOptions } from "./adapters/doc.ts";
export { fileAdapter, type FileAdapterOptions } from "./adapters/file.ts";
export { modelAdapter, type ModelAdapterOptions } from "./adapters/model.ts";
export { anthropicModels, type Models, openaiModels } from "@uncaged/workflow-agents";
export { stepTools, toolAdapter } from "./adapters/tool.ts";
export type { UnzipLimits } from "./adapters/file.ts";
