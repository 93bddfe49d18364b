import type { RoleOutput, Step } from "../contract/contract.ts";
import { INPUT, WAIT } from "../contract/reserved.ts";
import { answerOf, type WaitRequest, waitOutput } from "../contract/wait.ts";
import type { RoleResult } from "./context.ts";

const asking = Symbol("waitFor");

/** The meta of a role that asked: the answer's value, and what else its `__input__` step holds. */
export type WaitResult<T = unknown> = {
  value: T;
  for?: string;
  timedOut?: boolean;
  [key: string]: unknown;
};

/**
 * What a role returns to ask for an answer from outside; the answer then is the role's step.
 *
 *     const approval: Role<WaitResult<{ approved: boolean }>> = async () =>
 *       waitFor("approval", { content: "Ship it?", schema: { type: "object" } });
 *
 * The thread waits, its worker may exit. In `ctx.steps` the answered role has the answer's text as
 * content and `meta.value`, its JSON value, or the text when it is no JSON.
 */
export function waitFor<T = unknown>(
  what: string,
  request: WaitRequest = {},
): RoleResult<WaitResult<T>> {
  const { content, meta } = waitOutput(what, request);
  const result = { content, meta, [asking]: true };
  return result as RoleResult<Record<string, unknown>> as RoleResult<WaitResult<T>>;
}

/** The `__wait__` step that a role's result asks for, or null when it is no {@link waitFor}. */
export function waitOf(role: string, result: RoleResult<unknown>): RoleOutput | null {
  if (!(asking in result)) return null;
  const meta = result.meta as Record<string, unknown>;
  return { role: WAIT, content: result.content, meta: { ...meta, role } };
}

/**
 * Takes the log's steps one by one and gives the step that a moderator sees for each: itself; for an
 * answer the step of the role that asked; nothing for a question or for an answer to no role.
 */
export class WaitFold {
  #asker: string | null = null;

  take(step: Step): Step | null {
    if (step.role === WAIT) {
      this.#asker = typeof step.meta.role === "string" ? step.meta.role : null;
      return null;
    }
    if (step.role !== INPUT) return step;
    const role = this.#asker;
    this.#asker = null;
    if (role === null) return null;
    const { content, timestamp } = step;
    return { role, content, meta: { ...step.meta, value: answerOf(step).value }, timestamp };
  }
}
