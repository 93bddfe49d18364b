import type { System } from "../system/port.ts";
import { system, useSystem } from "../system/system.ts";
import { randomOfRole } from "./executions.ts";
import { Random } from "./random.ts";

const { Date: RealDate } = globalThis;

/** The clock and the random numbers of this process, of which each simulated process gets its own. */
export class Surprise {
  #offset = 0;
  #random = new Random(0);

  /** Replaces `Date`, `Math.random` and `crypto.randomUUID` of this process, and the clock of the engine. */
  install(): void {
    const now = () => this.now();
    const before: System = useSystem(system);
    useSystem({ ...before, clock: { ...before.clock, now } });
    globalThis.Date = new Proxy(RealDate, {
      construct: (target, given: [], as) =>
        Reflect.construct(target, given.length === 0 ? [now()] : given, as) as object,
      apply: () => new RealDate(now()).toString(),
      get: (target, key) => (key === "now" ? now : (Reflect.get(target, key) as unknown)),
    });
    Math.random = () => this.#now.number();
    crypto.randomUUID = () => this.#uuid();
  }

  now(): number {
    return RealDate.now() + this.#offset;
  }

  /** Moves the clock to a time, and begins another sequence of random numbers. */
  begin(offset: number, random: Random): void {
    this.#offset = offset;
    this.#random = random;
  }

  /** Moves the clock forward, at least to a time. */
  advance(until: number): void {
    this.#offset = Math.max(this.#offset, until - RealDate.now() + 1);
  }

  get offset(): number {
    return this.#offset;
  }

  get #now(): Random {
    return randomOfRole() ?? this.#random;
  }

  #uuid(): ReturnType<typeof crypto.randomUUID> {
    const digits = (count: number) =>
      Array.from({ length: count }, () => this.#now.below(16).toString(16)).join("");
    return `${digits(8)}-${digits(4)}-4${digits(3)}-a${digits(3)}-${digits(12)}`;
  }
}
