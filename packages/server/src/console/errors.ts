import { WorkflowError } from "@uncaged/workflow/host";

export const consoleFailed = (reason: string, sources: string): WorkflowError =>
  WorkflowError.failed(
    "CONSOLE_FAILED",
    `can't build the console: ${reason}`,
    `see the whole output: bun run build, in ${sources}`,
  );
