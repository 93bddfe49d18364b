/**
 * Agent graphs as documents, for editors: the form, the checks, and the reasons why a graph can't run. Does no I/O and
 * runs in browsers.
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
