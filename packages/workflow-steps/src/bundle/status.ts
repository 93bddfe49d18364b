import type { ExecutionStatus } from "../document/constants.ts";

/**
 * How a run stands, by the status of its thread: a thread that waits is a paused run, and one that was
 * completed by a Stop is a stopped run. What can go on and is not driven now counts as running.
 */
export function runStatus(
  status: string,
  steps: readonly { meta: Record<string, unknown> }[],
): ExecutionStatus {
  switch (status) {
    case "completed":
      return steps.at(-1)?.meta.stop ? "stopped" : "completed";
    case "failed":
    case "corrupt":
      return "failed";
    case "killed":
      return "cancelled";
    case "waiting":
    case "paused":
      return "paused";
    default:
      return "running";
  }
}
