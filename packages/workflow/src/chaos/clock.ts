import { system, useSystem } from "../system/system.ts";
import { runningRole } from "./executions.ts";
import { Random } from "./random.ts";

const { Date: RealDate } = globalThis;

/** The start time of the first process without a recording: a Monday morning. */
const monday = RealDate.UTC(2026, 0, 5, 9);

/**
 * The clock and the random numbers of a simulated process. A role gets the same random numbers each time it runs for a
 * step, so a different output is not due to chance. Time passes only within roles, or everywhere when the workflow's
 * roles are unknown (`isKnown` is false).
 */
export class Surprise {
  isKnown = true;
  readonly #first: number;
  #offset = 0;
  #since = system.clock.elapsed();
  #random = new Random(0);

  /** @param first The start time of the first process; null for a default. */
  constructor(first: number | null) {
    this.#first = first ?? monday;
  }

  /** Replaces `Date`, `Math.random` and `crypto.randomUUID` of this process, and the clock of the engine. */
  install(): void {
    const now = () => this.now();
    const before = useSystem(system);
    useSystem({ ...before, clock: { ...before.clock, now } });
    globalThis.Date = new Proxy(RealDate, {
      construct: (target, given: [], as) =>
        Reflect.construct(target, given.length === 0 ? [now()] : given, as) as object,
      apply: () => new RealDate(now()).toString(),
      get: (target, key) => (key === "now" ? now : (Reflect.get(target, key) as unknown)),
    });
    Math.random = () => this.#numbers.number();
    crypto.randomUUID = () => this.#uuid();
  }

  now(): number {
    const outside = this.isKnown ? 0 : system.clock.elapsed() - this.#since;
    const elapsed = runningRole()?.elapsedMs ?? outside;
    return Math.floor(this.#first + this.#offset + elapsed);
  }

  /** Sets the clock to `offset` milliseconds after the start of the first process, and sets the random numbers. */
  begin(offset: number, random: Random): void {
    this.#offset = offset;
    this.#since = system.clock.elapsed();
    this.#random = random;
  }

  /** Moves the clock forward to a time. An earlier time changes nothing. */
  advance(until: number): void {
    this.#offset += Math.max(0, until - this.now() + 1);
  }

  get offset(): number {
    return this.#offset;
  }

  get #numbers(): Random {
    return runningRole()?.random ?? this.#random;
  }

  #uuid(): ReturnType<typeof crypto.randomUUID> {
    const digits = (count: number) =>
      Array.from({ length: count }, () => this.#numbers.below(16).toString(16)).join("");
    return `${digits(8)}-${digits(4)}-4${digits(3)}-a${digits(3)}-${digits(12)}`;
  }
}
