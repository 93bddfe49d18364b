// Entry point `./document`: the document format for editors. Does no I/O and is small enough for a browser.

// Check
export { validate } from "../check/check.ts";

// Steps
export { callTypes, getStepType, nameOf, prefixOf } from "../document/document.ts";
export { nameIn } from "../check/subject.ts";
export { hasField } from "../document/format.ts";
export { builtInTools, documentedToolName, ownFieldNames } from "../document/tools.ts";

// Outline
export {
  literalPath,
  type Outline,
  outlineOf,
  type Reference,
  referencesOf,
  runsWorkflow,
} from "../document/outline.ts";

// Registry
export { inputSchema, Registry } from "../document/registry.ts";

// Schema
export { schemaOfStep, workflowSchema } from "../document/schema.ts";
