/**
 * Agent graphs as documents, for editors: the form, the checks, and the parts that are missing to run them. Does no
 * I/O and needs no Node.
 *
 * @module
 */

// Form
export { builtInTools, nodeDefaults } from "../document/graph.ts";
export { graphSchema } from "../check/schema.ts";

// Checks
export { checkGraph, type CheckOptions, type GraphFindings } from "../check/check.ts";
export { runBlocker, type RunBlocker } from "../check/blocker.ts";
export { foreignFormat } from "../check/formats.ts";
export { newViolation } from "../outline/subagents.ts";
