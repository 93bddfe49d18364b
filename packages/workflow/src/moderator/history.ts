import type { RoleOutput, Step, ThreadInput, WorkflowOptions } from "../contract/contract.ts";
import { WorkflowError } from "../contract/error.ts";
import { START } from "../contract/reserved.ts";
import { show } from "../contract/show.ts";
import type { StartStep, ThreadContext } from "./context.ts";
import { WaitFold } from "./wait.ts";

/** A thread's log and, folded from it step by step, the context that its roles see. */
export class ContextHistory {
  readonly context: ThreadContext;
  readonly #allSteps: Step[] = [];
  readonly #steps: Step[] = [];
  readonly #fold = new WaitFold();
  readonly #now: () => number;
  #count = 0;

  constructor(input: ThreadInput, options: WorkflowOptions, now: () => number) {
    this.#now = now;
    const { threadId, maxRounds, signal, cwd, env, attempts, ...rest } = options;
    const start: StartStep = {
      role: START,
      content: input.prompt,
      meta: { maxRounds, threadId },
      timestamp: timeOf(threadId) ?? now(),
    };
    this.context = Object.freeze({
      threadId,
      start,
      steps: this.#steps,
      allSteps: this.#allSteps,
      signal,
      cwd,
      env,
      attempts,
      params: input.params,
      options: Object.freeze(rest),
    });
    for (const step of input.steps) this.add(step);
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
    const seen = this.#fold.take(committed);
    if (seen !== null) this.#count = this.#steps.push(seen);
  }

  /** Throws `CONTEXT_CHANGED` when a role has changed the list that all of them share. */
  checkUnchanged(role: string): void {
    if (this.#steps.length === this.#count) return;
    throw new WorkflowError({
      code: "CONTEXT_CHANGED",
      kind: "failed",
      message: `ctx.steps was changed before role ${show(role)} had ended`,
      hint: "roles and moderators only read it; what a role returns becomes the next step",
    });
  }
}

/** The time in a ULID, or null when the text is none: unlike a clock, the same at every resume. */
function timeOf(ulid: string): number | null {
  if (!/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(ulid)) return null;
  let time = 0;
  for (const digit of ulid.slice(0, 10)) {
    time = time * 32 + "0123456789ABCDEFGHJKMNPQRSTVWXYZ".indexOf(digit);
  }
  return time;
}
