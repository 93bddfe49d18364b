// Entry point 3: step workflows as texts: read, checked, and made into sources of bundles.

export { findIn, type FindWorkflow, type StepsSource, stepsSource } from "./source/module.ts";
export { type CheckedDocument, checkedDocument } from "./source/source.ts";
export { readDocument } from "@uncaged/workflow/document";
