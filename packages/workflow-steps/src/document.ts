// Entry point 4: the format alone, for editors: pure, and small enough for a browser.

// Check
export { validate } from "./check/check.ts";
export type { KnownTools, Violation } from "./check/subject.ts";

// Document
export {
  callTypes,
  getStepType,
  nameOf,
  prefixOf,
  StepType,
  SUPPORTED_VERSIONS,
} from "./document/document.ts";
export { builtInTools, documentedToolName, ownFieldNames } from "./document/tools.ts";
export { hasField } from "./document/format.ts";
export { schemaOfStep, workflowSchema } from "./schema/schema.ts";

// Outline
export {
  literalPath,
  type Outline,
  outlineOf,
  type Reference,
  referencesOf,
  runsWorkflow,
} from "./outline/outline.ts";

// Registry
export { inputSchema, Registry } from "./registry/registry.ts";
export { nameIn } from "./check/subject.ts";
