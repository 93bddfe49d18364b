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
import { contextChanged } from "./errors.ts";

const isUlid = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** A thread's log and, folded from it step by step, the context that its roles see. */
export class ContextHistory {
  readonly context: ThreadContext;
  readonly questions = new QuestionLog();
  readonly #options: WorkflowOptions;
  readonly #numbers = new Map<string, number>();
  readonly #allSteps: Step[] = [];
  readonly #steps: Step[] = [];
  readonly #now: () => number;
  #count = 0;
  /** The role whose question is not answered yet. */
  #asker: string | null = null;

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
      // The time in a ULID: unlike a clock's, the same at every resume.
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

  /** The idempotency key of a role's next step. */
  keyOf(role: string): string {
    return stepKey(this.#options, role, this.nextOf(role));
  }

  /** Which of a role's steps its next one is, from 1. */
  nextOf(role: string): number {
    return (this.#numbers.get(role) ?? 0) + 1;
  }

  /** How many steps the log holds. */
  get length(): number {
    return this.#allSteps.length;
  }

  /** Adds a committed step; it has the time it brings, or the clock's. */
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
   * The step that a moderator sees for a step of the log: itself; for an answer the step of the role
   * that asked; nothing for a question or for an answer to no role.
   */
  #seen(step: Step): Step | null {
    if (step.role === WAIT) {
      this.#asker = typeof step.meta.role === "string" ? step.meta.role : null;
      return null;
    }
    if (step.role !== INPUT) return step;
    const role = this.#asker;
    this.#asker = null;
    if (role === null) return null;
    return { ...step, role, meta: { ...step.meta, value: answerOf(step).value } };
  }

  /** Throws `CONTEXT_CHANGED` when a role has changed the list that all of them share. */
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
 * While the thread waits its worker may exit. In `ctx.steps` the answered role has the answer's text as `content` and
 * its value as `meta.value`: parsed JSON, or the text when it is not JSON.
 */
export function waitFor<T = unknown>(
  what: string,
  request: WaitRequest = {},
): RoleResult<WaitResult<T>> {
  const asked = waitResult(waitOutput(what, request));
  return asked as RoleResult<WaitResult<T>>;
}

/** Result of a role that asks: content and meta of its `__wait__` step. */
export const waitResult = ({
  content,
  meta,
}: RoleResult<Record<string, unknown>>): RoleResult<Record<string, unknown>> =>
  Object.assign({ content, meta }, { [asking]: true });

/** The `__wait__` step that a role's result asks for, or null when it is no {@link waitFor}. */
export function waitOf(role: string, result: RoleResult<unknown>): RoleOutput | null {
  if (!(asking in result)) return null;
  const meta = result.meta as Record<string, unknown>;
  return { role: WAIT, content: result.content, meta: { ...meta, role } };
}
