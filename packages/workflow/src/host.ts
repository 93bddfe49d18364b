// Errors
export { WorkflowError, isWorkflowError, toErrorRecord } from "./contract/error.ts";
export type { ErrorKind, ErrorRecord } from "./contract/error.ts";

// The storage root
export { createRoot, openRoot, rootVariable } from "./storage/root.ts";
export type { Root } from "./storage/paths.ts";

// Workflows
export { resolveWorkflow } from "./client/resolve.ts";
export {
  historyOf,
  listWorkflows,
  removeWorkflow,
  rollbackWorkflow,
  showWorkflow,
} from "./client/workflows.ts";
export type { VersionRow, WorkflowRow, WorkflowView } from "./client/workflows.ts";
