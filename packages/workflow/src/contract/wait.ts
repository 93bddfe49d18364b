import { INPUT, type InputMeta, type JsonSchema, type RoleOutput, WAIT } from "./contract.ts";
import { type Duration, durationHint, durationMs, latestTime } from "./duration.ts";
import { show, shown } from "./show.ts";
import { badDeadline, noAnswer, twoDeadlines } from "./errors.ts";

/**
 * A question. `content` is its text for people, by default the name of the expected answer. `within` is the time to
 * answer, such as `"1h"`, and replaces `expiresAt`. All other keys are keys of `WaitMeta`.
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
 * An answer. `value` is its parsed JSON, or its text if the schema accepts text; `content` is the text as given;
 * `timedOut` means that no answer came in time; `meta` is the meta of the `__input__` step.
 */
export type Answer<T = unknown> = {
  value: T;
  content: string;
  timedOut: boolean;
  meta: InputMeta;
};

/**
 * Returns the `__wait__` step that asks for `what`. @throws WorkflowError `BAD_WAIT` (usage) for an invalid `within`.
 */
export function waitOutput(what: string, request: WaitRequest): RoleOutput {
  const { content = what, within: _, ...meta } = request;
  const ms = withinMs(what, request);
  if (ms === null) return { role: WAIT, content, meta: { ...meta, for: what } };
  return { role: WAIT, content, meta: { ...meta, expiresAt: Date.now() + ms, for: what } };
}

/**
 * Returns the time to answer in milliseconds; null without `within`. @throws WorkflowError `BAD_WAIT` (usage) for an
 * invalid `within`.
 */
export function withinMs(what: string, { within, expiresAt }: WaitRequest): number | null {
  if (within === undefined) return null;
  if (expiresAt !== undefined) throw twoDeadlines(what);
  const ms = durationMs(within);
  if (ms !== null && ms > 0 && ms < latestTime / 2) return Math.ceil(ms);
  throw badDeadline(what, shown(within), durationHint);
}

/** Returns the `__wait__` step that sleeps until a time in milliseconds since the epoch. */
export const sleepOutput = (what: string, until: number, why = ""): RoleOutput => ({
  role: WAIT,
  content: `${why === "" ? "" : `${why}; `}sleeping until ${new Date(until).toISOString()}`,
  meta: { for: what, sleep: true, expiresAt: until },
});

/** Returns the end of a sleep, in milliseconds since the epoch; null for other steps. */
export function sleepsUntil(step: Pick<RoleOutput, "role" | "meta"> | null): number | null {
  if (step?.role !== WAIT || step.meta.sleep !== true) return null;
  return wakesAt(step);
}

/** Returns whether a step is a `__wait__` step that asks a question, not a sleep. */
export const isQuestion = ({ role, meta }: Pick<RoleOutput, "role" | "meta">): boolean =>
  role === WAIT && meta.sleep !== true;

/** Returns the time at which a thread continues without an answer, in milliseconds since the epoch; null if never. */
export function wakesAt(step: Pick<RoleOutput, "role" | "meta"> | null): number | null {
  const at = step?.role === WAIT ? step.meta.expiresAt : undefined;
  return typeof at === "number" ? at : null;
}

/** Converts an `__input__` step to an answer. */
export function answerOf<T>(input: { content: string; meta: InputMeta }): Answer<T> {
  const { content, meta } = input;
  const value = (Object.hasOwn(meta, "value") ? meta.value : content) as T;
  return { value, content, timedOut: meta.timedOut === true, meta };
}

/**
 * Checks the value sent to the `yield` of a `__wait__` step, and returns it as the `__input__` step.
 *
 * @throws WorkflowError `NO_ANSWER` for any other value.
 */
export function sentInput(sent: unknown, what: string): RoleOutput {
  if (typeof sent === "object" && sent !== null && "role" in sent && sent.role === INPUT) {
    return sent as RoleOutput;
  }
  throw noAnswer(`the workflow waits for ${show(what)}`);
}
