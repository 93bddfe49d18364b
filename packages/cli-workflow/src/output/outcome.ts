import type { FailureRecord, Status, Step } from "@uncaged/workflow/host";
import { type Paint, statusStyle, statusText } from "./style.ts";
import { plain } from "./text.ts";
import { isoTime } from "./time.ts";

/** A thread that nobody drives on: it has ended, waits, or needs a person. */
export type Outcome = {
  threadId: string;
  status: Status;
  result: { returnCode: number; summary: string } | null;
  /** The question of the last step, when it waits for an answer. */
  question?: string | null;
};

/** The exit code for a thread that waits for an answer: it is neither done nor failed. */
export const waitingExitCode = 6;
// Of a Date, in milliseconds since the epoch.
const latestTime = 8.64e15;

/** The exit code after Ctrl-C. */
export const interruptedExitCode = 130;

/** The exit code that a command which waited for a thread ends with: the thread's own return code. */
export function outcomeExitCode({ status, result }: Outcome): number {
  if (status === "waiting") return waitingExitCode;
  if (!result) return 1;
  const { returnCode } = result;
  if (returnCode === 0) return status === "completed" ? 0 : 1;
  return Number.isInteger(returnCode) && returnCode > 0 && returnCode < 256 ? returnCode : 1;
}

/** The last lines of a live view: the status, the summary, and what to do now if anything is. */
export function outcomeText(outcome: Outcome, paint: Paint, terminal: boolean): string {
  const { status, result, question } = outcome;
  const code = result && result.returnCode !== 0 ? ` (return code ${result.returnCode})` : "";
  const summary = result?.summary ? `: ${plain(result.summary)}` : "";
  const head = `${paint(statusStyle(status), statusText(status, terminal))}${code}${summary}`;
  const asked = status === "waiting" && question ? `: ${plain(question)}` : "";
  return `${head}${asked}\n`;
}

/** What a step asks, and until when; null when it asks nothing. */
export function questionOf(step: Step | undefined): string | null {
  if (step?.role !== "__wait__") return null;
  const { expiresAt } = step.meta;
  const isTimed = typeof expiresAt === "number" && Math.abs(expiresAt) <= latestTime;
  return isTimed ? `${step.content} (until ${isoTime(expiresAt)})` : step.content;
}

/** The remedy that the error of a failed thread names, or null. */
export function hintOf(failure: FailureRecord | null): string | null {
  return failure?.hint === undefined ? null : plain(failure.hint);
}

/** What a person can do about a thread that does not continue automatically, or null. */
export function whatNext({ threadId, status }: Omit<Outcome, "result">): string | null {
  switch (status) {
    case "waiting":
      return `answer it: uncaged-workflow resume ${threadId} --input 'your answer'`;
    case "interrupted":
      return `no worker drives it; see why: uncaged-workflow logs ${threadId}; continue it: uncaged-workflow resume ${threadId}`;
    case "corrupt":
      return "its log is broken: uncaged-workflow verify";
    case "failed":
    case "killed":
      return `continue in a new thread: uncaged-workflow retry ${threadId}`;
    default:
      return null;
  }
}
