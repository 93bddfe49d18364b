import { INPUT, type InputMeta, type JsonSchema, type RoleOutput, WAIT } from "./contract.ts";
import { type Duration, durationHint, durationMs, latestTime } from "./duration.ts";
import { WorkflowError } from "./error.ts";
import { show, shown } from "./show.ts";

/**
 * What is asked. `content` is the question as people read it (what is waited for, when absent); `within` is how long it
 * can be answered, such as `"1h"`, and takes the place of `expiresAt`; the rest is that of `WaitMeta`.
 */
export type WaitRequest = {
  content?: string;
  schema?: JsonSchema;
  within?: Duration;
  expiresAt?: number;
  onTimeout?: unknown;
  [key: string]: unknown;
};

/**
 * An answer. `value` is the JSON that it says, or its text where the schema takes text; `content` the text as given;
 * `timedOut` means that nobody answered in time; `meta` is the `__input__` step's.
 */
export type Answer<T = unknown> = {
  value: T;
  content: string;
  timedOut: boolean;
  meta: InputMeta;
};

/** The `__wait__` step that asks for `what`. @throws WorkflowError `BAD_WAIT` (usage) for a `within` that is not a time. */
export function waitOutput(what: string, request: WaitRequest): RoleOutput {
  const { content = what, within, ...meta } = request;
  if (within === undefined) return { role: WAIT, content, meta: { ...meta, for: what } };
  const expiresAt = deadlineOf(what, within, meta.expiresAt);
  return { role: WAIT, content, meta: { ...meta, expiresAt, for: what } };
}

function deadlineOf(what: string, within: Duration, expiresAt: number | undefined): number {
  const bad = (problem: string, hint: string) =>
    WorkflowError.usage("BAD_WAIT", `the question for ${show(what)} ${problem}`, hint);
  if (expiresAt !== undefined) throw bad("has both within and expiresAt", "give one of them");
  const ms = durationMs(within);
  if (ms !== null && ms > 0 && ms < latestTime / 2) return Date.now() + Math.ceil(ms);
  throw bad(`can't be answered within ${shown(within)}`, durationHint);
}

/** The `__wait__` step that sleeps until a moment, in milliseconds since the epoch. */
export const sleepOutput = (what: string, until: number, why = ""): RoleOutput => ({
  role: WAIT,
  content: `${why === "" ? "" : `${why}; `}sleeping until ${new Date(until).toISOString()}`,
  meta: { for: what, sleep: true, expiresAt: until },
});

/** Until when a step sleeps, in milliseconds since the epoch; null for a question, and for any other step. */
export function sleepsUntil(step: Pick<RoleOutput, "role" | "meta"> | null): number | null {
  if (step?.role !== WAIT || step.meta.sleep !== true) return null;
  return wakesAt(step);
}

/** When a thread continues that nobody answers, in milliseconds since the epoch; null when it never does. */
export function wakesAt(step: Pick<RoleOutput, "role" | "meta"> | null): number | null {
  const at = step?.role === WAIT ? step.meta.expiresAt : undefined;
  return typeof at === "number" ? at : null;
}

/** The answer that an `__input__` step is. */
export function answerOf<T>(input: { content: string; meta: InputMeta }): Answer<T> {
  const { content, meta } = input;
  const value = (Object.hasOwn(meta, "value") ? meta.value : content) as T;
  return { value, content, timedOut: meta.timedOut === true, meta };
}

/**
 * The `__input__` step that a driver must send as the value of the `yield` of a `__wait__`.
 *
 * @throws WorkflowError `NO_ANSWER` when it sent something else.
 */
export function sentInput(sent: unknown, what: string): RoleOutput {
  if (typeof sent === "object" && sent !== null && "role" in sent && sent.role === INPUT) {
    return sent as RoleOutput;
  }
  throw noAnswer(`the workflow waits for ${show(what)}`);
}

/** Something else than an answer was sent to what waits for one; `waits` is the sentence's beginning. */
export const noAnswer = (waits: string): WorkflowError =>
  WorkflowError.failed(
    "NO_ANSWER",
    `${waits} and was asked to go on without an answer`,
    "what drives it must send the __input__ step with next(), or start it again with that step",
  );
