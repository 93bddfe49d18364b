import type { Status } from "@uncaged/workflow-server/api-types";

/** The statuses in the order in which a filter lists them. */
export const statuses: readonly Status[] = [
  "running",
  "waiting",
  "paused",
  "completed",
  "failed",
  "killed",
  "interrupted",
  "corrupt",
];

/** Whether a worker drives a thread with this status. */
export const isLive = (status: Status): boolean => status === "running" || status === "paused";

/** Whether its log is final. */
export const isEnded = (status: Status): boolean =>
  status === "completed" || status === "failed" || status === "killed";
