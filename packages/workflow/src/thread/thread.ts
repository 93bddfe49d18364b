import type { Step } from "../contract/contract.ts";

/** Computed by `statusOf` and never stored. */
export type Status =
  | "running"
  | "paused"
  | "waiting"
  | "completed"
  | "failed"
  | "killed"
  | "interrupted"
  | "corrupt";

export const statuses: readonly Status[] = [
  "running",
  "paused",
  "waiting",
  "completed",
  "failed",
  "killed",
  "interrupted",
  "corrupt",
];

/** Which thread: where its log lies. */
export type ThreadRef = { hash: string; threadId: string };

/** A thread whole, as `thread --json` prints it. Times are in milliseconds since the epoch. */
export type ThreadView = {
  threadId: string;
  workflow: string;
  hash: string;
  status: Status;
  prompt: string;
  /** Absent when the starter gave none. */
  params?: unknown;
  maxRounds: number;
  createdAt: number;
  steps: Step[];
  result: { returnCode: number; summary: string } | null;
  forkFrom: { threadId: string; steps: number } | null;
  pid: number | null;
};

/** A line of `threads --json`; `steps` is their number. */
export type ThreadRow = {
  threadId: string;
  workflow: string;
  hash: string;
  status: Status;
  steps: number;
  createdAt: number;
  updatedAt: number;
};

/** A line of `ps --json`. */
export type LiveRow = {
  threadId: string;
  workflow: string;
  hash: string;
  status: Status;
  pid: number;
  steps: number;
  role: string | null;
  elapsedMs: number;
};
