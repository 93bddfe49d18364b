import { stepKey } from "../contract/key.ts";
import { ulidTime } from "../contract/base32.ts";
import {
  folderOf,
  INPUT,
  type RoleOutput,
  START,
  type Step,
  type ThreadInput,
  WAIT,
  type WorkflowOptions,
} from "../contract/contract.ts";
import { QuestionLog } from "../contract/question.ts";
import type { RoleResult, StartStep, ThreadContext } from "./context.ts";
import { type WaitRequest, answerOf, waitOutput } from "../contract/wait.ts";
import { contextChanged, unasked } from "./errors.ts";

const isUlid = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** A thread's log, and the context that its roles see, computed from the log step by step. */
export class ContextHistory {
  readonly context: ThreadContext;
  readonly questions = new QuestionLog();
  readonly #options: WorkflowOptions;
  readonly #numbers = new Map<string, number>();
  readonly #allSteps: Step[] = [];
  readonly #steps: Step[] = [];
  readonly #now: () => number;
  #count = 0;
  /** The role with an unanswered question. */
  #asker: string | null = null;
  #isAsked = false;

  constructor(input: ThreadInput, options: WorkflowOptions, now: () => number) {
    this.#now = now;
    this.#options = options;
    const {
      threadId,
      maxRounds,
      signal,
      cwd: _cwd,
      env,
      attempts,
      blobs,
      journal,
      ...others
    } = options;
    const { worktrees, shared, recorded: _, ...rest } = others;
    const start: StartStep = {
      role: START,
      content: input.prompt,
      meta: { maxRounds, threadId },
      // The time in a ULID is the same at every resume, unlike the clock.
      timestamp: isUlid.test(threadId) ? ulidTime(threadId) : now(),
    };
    this.context = Object.freeze({
      threadId,
      start,
      steps: this.#steps,
      allSteps: this.#allSteps,
      signal,
      cwd: folderOf(options),
      env,
      attempts,
      blobs,
      journal,
      worktrees,
      shared,
      params: input.params,
      options: Object.freeze(rest),
    });
    for (const step of input.steps) this.add(step);
  }

  /** Returns the idempotency key of a role's next step. */
  keyOf(role: string): string {
    return stepKey(this.#options, role, this.nextOf(role));
  }

  /** Returns the number of a role's next step among its steps, from 1. */
  nextOf(role: string): number {
    return (this.#numbers.get(role) ?? 0) + 1;
  }

  /** Number of steps in the log. */
  get length(): number {
    return this.#allSteps.length;
  }

  /** Adds a committed step. Without a timestamp it gets the current time. */
  add(step: RoleOutput & { timestamp?: number }): void {
    const { role, content, meta, timestamp = this.#now() } = step;
    const committed = { role, content, meta, timestamp };
    this.#allSteps.push(committed);
    this.questions.take(committed);
    const seen = this.#seen(committed);
    if (seen === null) return;
    this.#count = this.#steps.push(seen);
    this.#numbers.set(seen.role, (this.#numbers.get(seen.role) ?? 0) + 1);
  }

  /**
   * Returns the step that a moderator sees for a step of the log: for an answer, the step of the role that asked; null
   * for a question, and for an answer that no role asked for; otherwise the step itself.
   */
  #seen(step: Step): Step | null {
    const isAsked = this.#isAsked;
    this.#isAsked = step.role === WAIT;
    if (step.role === WAIT) {
      this.#asker = typeof step.meta.role === "string" ? step.meta.role : null;
      return null;
    }
    if (step.role !== INPUT) return step;
    if (!isAsked) throw unasked(this.#allSteps.length);
    const role = this.#asker;
    this.#asker = null;
    if (role === null) return null;
    return { ...step, role, meta: { ...step.meta, value: answerOf(step).value } };
  }

  /** Throws `CONTEXT_CHANGED` when a role has changed the list of steps, which all roles share. */
  checkUnchanged(role: string): void {
    if (this.#steps.length === this.#count) return;
    throw contextChanged(role);
  }
}

const asking = Symbol("waitFor");

/** Meta of a role that asked: the answer's value and the other fields of its `__input__` step. */
export type WaitResult<T = unknown> = {
  value: T;
  for?: string;
  timedOut?: boolean;
  [key: string]: unknown;
};

/**
 * Result of a role that asks for an answer. The answer becomes the role's step.
 *
 *     const approval: Role<WaitResult<{ approved: boolean }>> = async () =>
 *       waitFor("approval", { content: "Ship it?", schema: { type: "object" } });
 *
 * The worker may exit while the thread waits. In `ctx.steps` the answered role has the answer's text as `content` and
 * its value as `meta.value`: parsed JSON, or the text when it is not JSON.
 */
export function waitFor<T = unknown>(
  what: string,
  request: WaitRequest = {},
): RoleResult<WaitResult<T>> {
  const asked = waitResult(waitOutput(what, request));
  return asked as RoleResult<WaitResult<T>>;
}

/** Returns the result of a role that asks: content and meta of its `__wait__` step. */
export const waitResult = ({
  content,
  meta,
}: RoleResult<Record<string, unknown>>): RoleResult<Record<string, unknown>> =>
  Object.assign({ content, meta }, { [asking]: true });

/** Returns the `__wait__` step of a role's result, or null when the result does not come from {@link waitFor}. */
export function waitOf(role: string, result: RoleResult<unknown>): RoleOutput | null {
  if (!(asking in result)) return null;
  const meta = result.meta as Record<string, unknown>;
  return { role: WAIT, content: result.content, meta: { ...meta, role } };
}
