// Entry point 4: agent graphs as documents, for editors: their form, their checks, what is missing to run them.
// Nothing here does I/O or needs Node.

// Form
export { builtInTools, nodeDefaults } from "../document/graph.ts";
export { graphSchema } from "../check/schema.ts";

// Checks
export { checkGraph, type CheckOptions, type GraphFindings } from "../check/check.ts";
export { runBlocker, type RunBlocker } from "../check/blocker.ts";
export { foreignFormat } from "../check/formats.ts";
export { newViolation } from "../outline/subagents.ts";
