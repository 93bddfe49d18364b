import { currentCall, publish } from "./call.ts";
import { noUsage, type Spent } from "./usage.ts";

/**
 * Publishes what one model call uses, from its start on: what was told before a worker was killed is
 * then in the debug log. `llm_start` says that a call begins, `llm_usage` what its provider has counted
 * so far, and with `final` that no more will come. The calls of one run of a role have one `run_id`.
 */
export class Meter {
  readonly #id = crypto.randomUUID();
  readonly #call = currentCall();
  readonly #model: string;

  constructor(model: string) {
    this.#model = model;
    publish("llm_start", { ...this.#ids(), model });
  }

  /** What the provider has counted so far, in all. */
  tell({ model, usage }: Omit<Spent, "cost">): void {
    this.#publish({ model, usage, cost: null }, false);
  }

  /** What the whole call used. */
  end(spent: Spent): void {
    this.#publish(spent, true);
  }

  /** The call used nothing: it was not made, or declined. */
  free(): void {
    this.#publish({ model: this.#model, usage: noUsage, cost: 0 }, true);
  }

  #publish(spent: Spent, final: boolean): void {
    const { model, usage, cost } = this.#call.priced?.(spent) ?? spent;
    publish("llm_usage", { ...this.#ids(), model, usage, cost_usd: cost, final });
  }

  #ids() {
    return { call_id: this.#id, run_id: this.#call.id ?? null };
  }
}
