import { currentCall, publish } from "./call.ts";
import { noUsage, type Spent } from "./usage.ts";

/** How it stands with a call: it goes on, all of its tokens are told, or it broke off before. */
type State = "open" | "whole" | "broken";

/**
 * Publishes what one model call uses, from its start on: what was told before a worker was killed is
 * then in the debug log. `llm_start` says that a call begins, `llm_usage` what its provider has counted
 * so far, and how it stands with it. The calls of one run of a role have one `run_id`.
 */
export class Meter {
  readonly #id = crypto.randomUUID();
  readonly #call = currentCall();
  #last: Spent;

  constructor(model: string) {
    this.#last = { model, usage: noUsage, cost: null };
    publish("llm_start", { ...this.#ids(), model });
  }

  /** What the provider has counted so far, in all. */
  tell({ model, usage }: Omit<Spent, "cost">): void {
    this.#publish({ model, usage, cost: null }, "open");
  }

  /** What the whole call used. */
  end(spent: Spent): void {
    this.#publish(spent, "whole");
  }

  /** The call used nothing: it was not made, or declined. */
  free(): void {
    this.#publish({ ...this.#last, usage: noUsage, cost: 0 }, "whole");
  }

  /** The call is over, and not all that it used was told. */
  breakOff(): void {
    this.#publish(this.#last, "broken");
  }

  #publish(spent: Spent, state: State): void {
    this.#last = spent;
    const { model, usage, cost } = this.#call.priced?.(spent) ?? spent;
    publish("llm_usage", { ...this.#ids(), model, usage, cost_usd: cost, state });
  }

  #ids() {
    return { call_id: this.#id, run_id: this.#call.id ?? null };
  }
}
