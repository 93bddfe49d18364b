/**
 * The default adapters of a bundle, which do the interpreter's I/O.
 * @module
 */

export { defaultAdapters } from "../adapters/adapters.ts";
export { apiAdapter } from "../adapters/api.ts";
export { docAdapter } from "../adapters/doc.ts";
export { fileAdapter } from "../adapters/file.ts";
export { modelAdapter } from "../adapters/model.ts";
export { stepTools, toolAdapter } from "../adapters/tool.ts";
export { anthropicModels, openaiModels } from "@uncaged/workflow-agents";
