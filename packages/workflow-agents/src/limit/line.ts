import { AsyncResource } from "node:async_hooks";
import type { SharedValues } from "@uncaged/workflow/interpreter";
import { Bucket, type Mark, type Opening } from "./bucket.ts";
import { limitsIn, type ResponseHead } from "./headers.ts";

/** A call that waits to start. `tokens` estimates its input tokens. */
export type Waiting = {
  tokens: () => number;
  signal?: AbortSignal;
  /** Called when the call has to wait, and again when the wait becomes longer. */
  onWait?: (ms: number, reason: Opening["for"]) => void;
  /** Called when the call has to wait. Returns whether the wait is too long. */
  isTooLong?: (ms: number) => boolean;
};

/** A call that may start. Call `send` when the call starts, and the returned function with the head of the answer. */
export type Turn = { send(): (head: ResponseHead) => void };

/** Thrown for a call that would have to wait too long. */
export class TooLong extends Error {
  readonly ms: number;
  readonly reason: Opening["for"];

  constructor(ms: number, reason: Opening["for"]) {
    super(`the call would wait for ${ms} ms`);
    this.ms = ms;
    this.reason = reason;
  }
}

/** The limits of this process, for use when limits cannot be shared with other processes. */
const own: SharedValues & { values: Map<string, unknown> } = {
  values: new Map(),
  async update(name, change) {
    const next = change(own.values.get(name));
    if (next !== undefined) own.values.set(name, next);
    return true;
  },
};

const lines = new WeakMap<SharedValues, Map<string, Line>>();

function lineIn(shared: SharedValues, name: string): Line {
  const known = lines.get(shared) ?? new Map<string, Line>();
  lines.set(shared, known);
  const line = known.get(name) ?? new Line(shared, name);
  known.set(name, line);
  return line;
}

/**
 * Waits until the provider's limits allow a call. Calls of this process start in their order of arrival.
 * @throws TooLong; the signal's reason if the signal is aborted.
 */
export async function turnOf(
  shared: SharedValues | undefined,
  name: string,
  call: Waiting,
): Promise<Turn> {
  const turn = shared && (await lineIn(shared, name).enter(call));
  return turn ?? (await lineIn(own, name).enter(call)) ?? { send: () => () => undefined };
}

type Waiter = {
  call: Waiting;
  /** The last reported wait. */
  announced: Opening | null;
  go: (mark: Mark | null) => void;
  fail: (error: unknown) => void;
};

// Shorter waits are not reported.
const leastAnnouncedMs = 100;
const lateMs = 1000;
const turnMs = 100;
// Maximum time between two checks, because another process may record a higher limit.
const longestSleepMs = 1000;

/** Queues the calls of this process that wait for one bucket, in their order of arrival. */
class Line {
  readonly #shared: SharedValues;
  readonly #name: string;
  #waiters: Waiter[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #looking: Promise<void> | undefined;
  #dueAt = Infinity;
  #hasWaited = false;

  constructor(shared: SharedValues, name: string) {
    this.#shared = shared;
    this.#name = name;
  }

  /** Waits for a turn. Returns null if the values cannot be shared. */
  async enter(call: Waiting): Promise<Turn | null> {
    const { signal } = call;
    signal?.throwIfAborted();
    // Node 20 lacks Promise.withResolvers.
    let waiter: Waiter | undefined;
    const gone = new Promise<Mark | null>((go, fail) => {
      // The check of another call may report the wait of this call.
      const onWait = call.onWait && AsyncResource.bind(call.onWait);
      waiter = { call: { ...call, onWait }, announced: null, go, fail };
      this.#waiters.push(waiter);
    });
    const abort = () => {
      this.#waiters = this.#waiters.filter((one) => one !== waiter);
      waiter?.fail(signal?.reason);
    };
    signal?.addEventListener("abort", abort);
    void this.#look();
    const mark = await gone.finally(() => signal?.removeEventListener("abort", abort));
    return mark && { send: () => this.#sent(mark) };
  }

  #sent(mark: Mark): (head: ResponseHead) => void {
    return (head) => {
      const seen = limitsIn(head, Date.now());
      const taken = this.#update((bucket) => bucket.answered(mark, seen));
      void taken.then(() => this.#lookIn(0));
    };
  }

  /** Starts the calls that are allowed now. Runs one check at a time. */
  async #look(): Promise<void> {
    await this.#looking;
    clearTimeout(this.#timer);
    this.#dueAt = Infinity;
    if (this.#waiters.length === 0) return;
    if (this.#looking) return await this.#look();
    this.#looking = this.#lookOnce().finally(() => (this.#looking = undefined));
    await this.#looking;
  }

  async #lookOnce(): Promise<void> {
    const going: [Waiter, Mark][] = [];
    let opening: Opening | undefined;
    const isKept = await this.#update((bucket) => {
      const most = this.#hasWaited ? bucket.share : Infinity;
      for (const waiter of this.#waiters.slice(0, most)) {
        const reserved = bucket.reserve(waiter.call.tokens);
        if ("at" in reserved) {
          opening = reserved;
          return;
        }
        going.push([waiter, reserved]);
      }
    });
    // Without readable state, no limit is known.
    if (!isKept) for (const { go } of this.#waiters.splice(0)) go(null);
    const gone = new Set(going.map(([waiter]) => waiter));
    this.#waiters = this.#waiters.filter((one) => !gone.has(one));
    for (const [{ go }, mark] of going) go(mark);
    this.#hasWaited = this.#waiters.length > 0;
    if (!this.#hasWaited) return;
    const ms = opening ? Math.max(1, opening.at - Date.now()) : 0;
    if (opening) for (const waiter of this.#waiters) this.#announce(waiter, opening, ms);
    this.#lookIn(ms);
  }

  /** Schedules the next check with a random additional delay, so that waiting processes get their share. */
  #lookIn(ms: number): void {
    const jitter = Math.random() * Math.min(Math.max(ms / 10, turnMs), lateMs);
    const delay = Math.min(ms + jitter, longestSleepMs);
    if (this.#waiters.length === 0 || performance.now() + delay >= this.#dueAt) return;
    clearTimeout(this.#timer);
    this.#dueAt = performance.now() + delay;
    this.#timer = setTimeout(() => void this.#look(), delay);
  }

  /** Reports the wait of a call. Ends the call if the wait is too long. */
  #announce(waiter: Waiter, opening: Opening, given: number): void {
    const { call, fail } = waiter;
    const ms = Math.ceil(given);
    if (call.isTooLong?.(ms)) {
      this.#waiters = this.#waiters.filter((one) => one !== waiter);
      fail(new TooLong(ms, opening.for));
      return;
    }
    const isNews =
      opening.for !== waiter.announced?.for || opening.at > waiter.announced.at + lateMs;
    if (!isNews || ms < leastAnnouncedMs) return;
    waiter.announced = opening;
    call.onWait?.(ms, opening.for);
  }

  /** Updates the shared value. Returns false if it cannot be shared. */
  async #update(change: (bucket: Bucket) => void): Promise<boolean> {
    return await this.#shared.update(this.#name, (value) => {
      const bucket = new Bucket(value, Date.now());
      change(bucket);
      return bucket.value;
    });
  }
}
