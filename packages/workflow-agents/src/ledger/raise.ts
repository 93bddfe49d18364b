import type { ThreadContext } from "@uncaged/workflow";
import { invalidOnBudget } from "./errors.ts";

/** Spending limits: US dollars, and tokens of all kinds. */
export type Limits = { maxCost?: number; maxTokens?: number };

type LimitName = keyof Limits;

/** A limit that the next call could exceed. `text` states the spending. */
export type UsedUp = { name: LimitName; amount: number; text: string };

/** The limits of a thread, which people may raise while the thread waits. */
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

  /** The current limits: the given limits, or the raised limits. */
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

  /** Makes the thread wait until a person raises the limit. */
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

  // The id contains the thread's id, because a fork has its own limits and does not count copied steps.
  readonly #idOf = (name: LimitName, amount: number): string =>
    `${this.#ctx.threadId}:budget:${name}:${amount}`;
}
