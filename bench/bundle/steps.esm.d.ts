import type { Descriptor, WorkflowFn } from "../../packages/workflow/src/contract/contract.ts";

export const run: WorkflowFn;
export const descriptor: Descriptor;
