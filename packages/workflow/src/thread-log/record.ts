import type { Step } from "../contract/contract.ts";
import type { END } from "../contract/reserved.ts";

/** Line 1 of a thread's log. */
export type StartRecord = {
  name: string;
  hash: string;
  threadId: string;
  parameters: {
    prompt: string;
    options: { maxRounds: number; cwd?: string; [option: string]: unknown };
    params?: unknown;
  };
  timestamp: number;
  forkFrom?: { threadId: string; steps: number };
};

/** How a thread ended. */
export type EndReason = "returned" | "maxRounds" | "killed" | "failed";

/** The last line of the log of a thread that has ended. `content` is the summary or the message. */
export type EndRecord = {
  role: END;
  content: string;
  meta: {
    returnCode: number;
    reason: EndReason;
    error?: { name: string; step: number; stack?: string };
  };
  timestamp: number;
};

/** Where a log is broken, other than at its very end. `line` counts from 1, `offset` in bytes. */
export type Break = { line: number; offset: number; reason: string };

/**
 * A log as it was read. `size` counts the bytes of its whole records; `torn` the bytes after them
 * that are no whole record yet; with `broken`, `steps` holds those before the break.
 */
export type ThreadLog = {
  start: StartRecord;
  steps: Step[];
  end: EndRecord | null;
  size: number;
  torn: number;
  broken: Break | null;
};
