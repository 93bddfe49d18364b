import {
  failureOf,
  replayedFailure,
  type Step,
  type ThreadResult,
  type ThreadStatus,
  type ThreadView,
} from "@uncaged/workflow/host";
import type { WaitMeta } from "@uncaged/workflow";
import { answerHint } from "@uncaged/workflow/internal";
import { sleepsUntil } from "@uncaged/workflow/records";
import { thrownText } from "./error.ts";
import { exitCodes } from "./exit-code.ts";
import { type Look, statusStyle, statusText } from "./style.ts";
import { isoTime, oneLine, plain } from "./text.ts";

const latestTime = 8.64e15;

export const resultOf = (state: ThreadStatus): ThreadResult | null =>
  "result" in state ? state.result : null;

/** Returns the exit code of a command that waited for a thread: the thread's own return code. */
export function outcomeExitCode(state: ThreadStatus): number {
  if (state.status === "waiting") return exitCodes.waiting;
  const result = resultOf(state);
  if (!result) return exitCodes.failed;
  if (result.reason === "maxRounds") return exitCodes.outOfRounds;
  const { returnCode } = result;
  if (returnCode === 0) return state.status === "completed" ? exitCodes.done : exitCodes.failed;
  return Number.isInteger(returnCode) && returnCode > 0 && returnCode < 256
    ? returnCode
    : exitCodes.failed;
}

export function outcomeText(state: ThreadStatus, { paint, terminal }: Look): string {
  const { status } = state;
  const result = resultOf(state);
  const code = result && result.returnCode !== 0 ? ` (return code ${result.returnCode})` : "";
  const text = status === "waiting" ? questionText(state.question) : result?.summary;
  const head = paint(statusStyle(status), statusText(status, terminal));
  const role = failureOf(state)?.role;
  const where = role === undefined ? "" : ` in ${oneLine(role)}`;
  return `${head}${where}${code}${text ? `: ${plain(text)}` : ""}\n`;
}

export function questionText(question: Step): string {
  const { content } = question;
  const expiresAt = expiryOf(question);
  if (expiresAt === null) return content;
  // The content of a durable sleep has its end; the content of a bundle's sleep may be empty.
  if (sleepsUntil(question) !== null) return content || `sleeping until ${isoTime(expiresAt)}`;
  return `${content} (until ${isoTime(expiresAt)})`;
}

/** Returns the time at which a question expires or a sleep ends; null for none. */
export function expiryOf({ meta: { expiresAt } }: Step): number | null {
  return typeof expiresAt === "number" && Math.abs(expiresAt) <= latestTime ? expiresAt : null;
}

/** The question of a waiting thread, for programs. An answer refers to `step`. */
type QuestionJson = {
  step: number;
  for: string;
  content: string;
  schema?: unknown;
  expiresAt?: number;
};

/** Returns the resting state of a thread, for programs. `steps` is its number of steps. */
export function outcomeJson(state: ThreadStatus, steps: number) {
  const error = failureOf(state);
  const question = questionJson(state, steps);
  return { status: state.status, result: resultOf(state), question, ...(error && { error }) };
}

function questionJson(state: ThreadStatus, step: number): QuestionJson | null {
  if (state.status !== "waiting" || sleepsUntil(state.question) !== null) return null;
  const { content, meta } = state.question;
  const { for: what, schema, expiresAt } = meta as WaitMeta;
  return {
    step,
    for: what,
    content,
    ...(schema !== undefined && { schema }),
    ...(expiresAt !== undefined && { expiresAt }),
  };
}

/** Returns the error of a failed thread, shown below its outcome; "" if the outcome already shows all of it. */
export function failureText(state: ThreadStatus, look: Look & { full?: boolean }): string {
  const error = failureOf(state);
  if (!error || !(error.at ?? error.stack ?? error.cause ?? error.errors)) return "";
  return thrownText(error, { full: false, ...look });
}

/** Returns the hint in a failed thread's error; null without a hint. */
export function hintOf(state: ThreadStatus): string | null {
  const hint = state.status === "failed" ? state.error?.hint : undefined;
  return hint === undefined ? null : plain(hint);
}

/** Returns the next action for the user of a thread, as text; null if the user need not act. */
export function whatNext(threadId: string, state: ThreadStatus | ThreadView): string | null {
  const retry = `uncaged-workflow retry ${threadId}`;
  switch (state.status) {
    case "waiting":
      if (sleepsUntil(state.question) !== null)
        return "it continues at that time, when a command, serve or wake finds it due";
      return answerHint(threadId, state.question);
    case "interrupted":
      return `no worker drives it; see why: uncaged-workflow logs ${threadId}; continue it: uncaged-workflow resume ${threadId}`;
    case "moved":
      return `it continues on ${state.movedTo}`;
    case "corrupt":
      return "its log is broken: uncaged-workflow verify";
    case "failed": {
      const corrected = `continue on a corrected version: ${retry} --on ${"workflow" in state ? state.workflow : "<name>"}`;
      // A retry replays the same log.
      if (state.error?.code === "DIVERGED") return corrected;
      const next = `continue in a new thread: ${retry}; ${corrected}`;
      // If the error has its own hint, the caught failure is not its cause.
      const isOther = state.error?.hint !== undefined;
      const kept = "steps" in state && !isOther ? replayedFailure(state) : null;
      if (kept === null) return next;
      return `repeat step ${kept + 1}, whose failure was caught: uncaged-workflow fork ${threadId} --at-step ${kept}; ${next}`;
    }
    case "killed":
      return `continue in a new thread: ${retry}`;
    case "completed":
      return state.result.reason === "maxRounds"
        ? `it is not done: give it more rounds: ${retry} --max-rounds N`
        : null;
    default:
      return null;
  }
}
