import type { WorkflowError } from "@uncaged/workflow";
import { failure } from "../document/document.ts";

/* The errors of an engine's tools. */

export const unknownTool = (name: string): WorkflowError =>
  failure(
    "TOOL_UNKNOWN",
    `no tool ${JSON.stringify(name)} found`,
    "give it in tools, or check the step's tool",
  );
