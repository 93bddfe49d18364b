import type { Call } from "../call/call.ts";
import { Meter } from "../call/meter.ts";
import { addUsage, noUsage, type Spent } from "../call/usage.ts";

/**
 * Counts what one run of a command spends: what it tells of each answer of its models while it runs, until
 * it tells what all of them used.
 */
export class RunSpending {
  readonly #call: Call;
  readonly #answers = new Map<string, Spent>();
  readonly #meters = new Map<string, Meter>();
  #first: Meter | null;
  #isTold = false;

  constructor(call: Call, name: string) {
    this.#call = call;
    this.#first = new Meter(name);
  }

  /** What was counted so far of one answer. */
  tell(id: string, spent: Spent): void {
    this.#answers.set(id, spent);
    const sum = this.#sumOf(spent.model);
    this.#meterOf(spent.model).tell(sum);
  }

  /** What a model used in the whole run. */
  add(spent: Spent): void {
    this.#isTold = true;
    this.#call.spent.push(spent);
    this.#meterOf(spent.model).end(spent);
    this.#meters.delete(spent.model);
  }

  /** The run is over, and has told all. */
  end(): void {
    this.#first?.free();
    for (const meter of this.#meters.values()) meter.free();
  }

  /** The run broke off: what its answers told is all that is known, unless it has told all. */
  breakOff(): void {
    if (this.#isTold) return this.end();
    const models = new Set([...this.#answers.values()].map(({ model }) => model));
    for (const model of models) this.#call.spent.push(this.#sumOf(model));
    for (const meter of [this.#first, ...this.#meters.values()]) meter?.breakOff();
  }

  #sumOf(model: string): Spent {
    const all = [...this.#answers.values()].filter((spent) => spent.model === model);
    const usage = all.reduce((sum, spent) => addUsage(sum, spent.usage), noUsage);
    return { model, usage, cost: null };
  }

  #meterOf(model: string): Meter {
    const meter = this.#meters.get(model) ?? this.#first ?? new Meter(model);
    this.#first = null;
    this.#meters.set(model, meter);
    return meter;
  }
}
