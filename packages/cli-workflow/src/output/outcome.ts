import type { Status, Step, ThreadResult, ThreadStatus } from "@uncaged/workflow/host";
import { type Look, statusStyle, statusText } from "./style.ts";
import { isoTime, plain } from "./text.ts";

/** The exit code for a thread that waits for an answer: it is neither done nor failed. */
export const waitingExitCode = 6;

export const interruptedExitCode = 130;

const latestTime = 8.64e15;

export const resultOf = (state: ThreadStatus): ThreadResult | null =>
  "result" in state ? state.result : null;

/** The exit code that a command which waited for a thread ends with: the thread's own return code. */
export function outcomeExitCode(state: ThreadStatus): number {
  if (state.status === "waiting") return waitingExitCode;
  const result = resultOf(state);
  if (!result) return 1;
  const { returnCode } = result;
  if (returnCode === 0) return state.status === "completed" ? 0 : 1;
  return Number.isInteger(returnCode) && returnCode > 0 && returnCode < 256 ? returnCode : 1;
}

export function outcomeText(state: ThreadStatus, { paint, terminal }: Look): string {
  const { status } = state;
  const result = resultOf(state);
  const code = result && result.returnCode !== 0 ? ` (return code ${result.returnCode})` : "";
  const text = status === "waiting" ? questionText(state.question) : result?.summary;
  const head = paint(statusStyle(status), statusText(status, terminal));
  return `${head}${code}${text ? `: ${plain(text)}` : ""}\n`;
}

export function questionText({ content, meta: { expiresAt } }: Step): string {
  const isTimed = typeof expiresAt === "number" && Math.abs(expiresAt) <= latestTime;
  return isTimed ? `${content} (until ${isoTime(expiresAt)})` : content;
}

/** The remedy that the error of a failed thread names, or null. */
export function hintOf(state: ThreadStatus): string | null {
  const hint = state.status === "failed" ? state.error?.hint : undefined;
  return hint === undefined ? null : plain(hint);
}

/** What a person can do about a thread that does not continue automatically, or null. */
export function whatNext(threadId: string, status: Status): string | null {
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
