import type { ThreadContext } from "@uncaged/workflow";
import { invalidOnBudget } from "./errors.ts";

/** Spending limits: US dollars, and tokens of all kinds. */
export type Limits = { maxCost?: number; maxTokens?: number };

type LimitName = keyof Limits;

/** The question when a limit is used up. `text` states the spending. */
export type UsedUp = { name: LimitName; amount: number; text: string };

/** A thread's limits, which people may raise while it waits. */
export class RaisedLimits {
  readonly #given: Limits;
  readonly #ctx: ThreadContext;

  constructor(given: Limits, ctx: ThreadContext) {
    const { onBudget = "fail" } = ctx.options ?? {};
    if (onBudget !== "wait" && onBudget !== "fail") {
      throw invalidOnBudget(onBudget);
    }
    this.#given = given;
    this.#ctx = ctx;
  }

  /** The limits as given, or as raised since. */
  get now(): Limits {
    const { maxCost, maxTokens } = this.#given;
    return {
      maxCost: this.#raised("maxCost", maxCost),
      maxTokens: this.#raised("maxTokens", maxTokens),
    };
  }

  /** Whether the option `onBudget` lets the thread wait, and the step can ask a person. */
  get canAsk(): boolean {
    return this.#ctx.questions !== undefined && this.#ctx.options?.onBudget === "wait";
  }

  /** Makes the thread wait until a limit is raised. */
  async ask({ name, amount, text }: UsedUp): Promise<void> {
    const { attempts, questions, role } = this.#ctx;
    const id = this.#idOf(name, amount);
    await questions?.ask(id, "budget", {
      content: `${text}; how much may it be in all?`,
      ...{ limit: name, amount, stepID: role, attempt: attempts?.outermost ?? undefined },
      schema: { type: "number", exclusiveMinimum: amount },
      token: id,
    });
  }

  #raised(name: LimitName, amount: number | undefined): number | undefined {
    if (amount === undefined) return undefined;
    const value = this.#ctx.questions?.answered(this.#idOf(name, amount))?.answer.value;
    return typeof value === "number" && value > amount ? this.#raised(name, value) : amount;
  }

  // The id is specific to this thread, because a fork has its own limits and does not count copied steps.
  readonly #idOf = (name: LimitName, amount: number): string =>
    `${this.#ctx.threadId}:budget:${name}:${amount}`;
}
