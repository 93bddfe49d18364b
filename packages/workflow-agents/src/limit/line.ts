import type { SharedValues } from "@uncaged/workflow/interpreter";
import { Bucket, type Mark, type Opening, type Place } from "./bucket.ts";
import { limitsIn, type ResponseHead } from "./headers.ts";

/** A call that would go. `tokens` is about how many its input has. */
export type Waiting = {
  tokens: () => number;
  signal?: AbortSignal;
  /** Called when it has to wait, and when that takes longer than it seemed. */
  onWait?: (ms: number, reason: Opening["for"]) => void;
  /** Called when it waits; true when that is too long for it. */
  isTooLong?: (ms: number) => boolean;
};

/** A call whose turn it is. `send` is called as it is made, and gives what takes the head of its answer. */
export type Turn = { send(): (head: ResponseHead) => void };

/** A call did not go: it would have had to wait too long. */
export class TooLong extends Error {
  readonly ms: number;
  readonly reason: Opening["for"];

  constructor(ms: number, reason: Opening["for"]) {
    super(`it would wait for ${ms} ms`);
    this.ms = ms;
    this.reason = reason;
  }
}

/** The values of a process that shares none with others. */
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
 * Waits until it is a call's turn, in the order in which calls came, among all that share the values.
 * @throws TooLong; the signal's reason when it is aborted.
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
  place: Place;
  mark: Mark;
  /** When it should be its turn, as it was reported last. */
  announced: number;
  go: () => void;
  fail: (error: unknown) => void;
};

// A shorter wait is not worth an event.
const leastAnnouncedMs = 100;
const lateMs = 1000;

/** Those of this process who wait for one bucket, in the order in which they came. */
class Line {
  readonly #shared: SharedValues;
  readonly #name: string;
  readonly #id: string = crypto.randomUUID();
  #waiters: Waiter[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #looking: "no" | "yes" | "again" = "no";
  /** Whether the bucket has it that somebody waits here. */
  #isNoted = false;

  constructor(shared: SharedValues, name: string) {
    this.#shared = shared;
    this.#name = name;
  }

  /** Null when the values can't be shared. */
  async enter(call: Waiting): Promise<Turn | null> {
    const { signal } = call;
    signal?.throwIfAborted();
    // Node 20 has no Promise.withResolvers.
    let [go, fail]: [() => void, (reason: unknown) => void] = [() => undefined, () => undefined];
    const promise = new Promise<void>((resolve, reject) => {
      [go, fail] = [resolve, reject];
    });
    const waiters: Waiter[] = [];
    const isKept = await this.#update((bucket, now) => {
      const place = bucket.give(call.tokens);
      const waiter = { call, place, mark: place.to, announced: 0, go, fail };
      waiters.push(waiter);
      if (bucket.opening(place).at > now) {
        this.#waiters.push(waiter);
        this.#isNoted = true;
        bucket.wait(this.#id, this.#waiters[0]?.place ?? place);
      } else {
        waiter.mark = bucket.go(place);
        go();
      }
      return true;
    });
    const [waiter] = waiters;
    if (!isKept || !waiter) {
      this.#leave(waiters);
      return null;
    }
    const abort = () => {
      this.#leave(waiters);
      fail(signal?.reason);
      void this.#look();
    };
    signal?.addEventListener("abort", abort);
    if (signal?.aborted) abort();
    else if (this.#waiters.includes(waiter)) void this.#look();
    await promise.finally(() => signal?.removeEventListener("abort", abort));
    return { send: () => this.#sent(waiter.mark) };
  }

  #sent(mark: Mark): (head: ResponseHead) => void {
    const sentAt = Date.now();
    return (head) => {
      const seen = limitsIn(head, Date.now());
      const taken = this.#update((bucket) => (bucket.answered(mark, sentAt, seen), true));
      void taken.then(() => this.#look());
    };
  }

  /** Has those go whose turn it is, and looks again when it may be that of the next. */
  async #look(): Promise<void> {
    if (this.#waiters.length === 0 && !this.#isNoted) return;
    if (this.#looking !== "no") {
      this.#looking = "again";
      return;
    }
    this.#looking = "yes";
    clearTimeout(this.#timer);
    let going: Waiter[] = [];
    let staying: [waiter: Waiter, opening: Opening][] = [];
    const isKept = await this.#update((bucket, now) => {
      const isRefreshed = bucket.wait(this.#id, this.#waiters[0]?.place ?? null);
      const all = this.#waiters.map((one): [Waiter, Opening] => [one, bucket.opening(one.place)]);
      going = all.filter(([, { at }]) => at <= now).map(([waiter]) => waiter);
      staying = all.filter(([, { at }]) => at > now);
      for (const waiter of going) waiter.mark = bucket.go(waiter.place);
      const isMoved = bucket.wait(this.#id, staying[0]?.[0].place ?? null);
      this.#isNoted = staying.length > 0;
      return isRefreshed || isMoved || going.length > 0;
    });
    // Nobody waits for what can't be read any more.
    if (!isKept) [going, staying] = [this.#waiters, []];
    this.#leave(going);
    for (const { go } of going) go();
    const now = Date.now();
    const given = staying.filter(([waiter, opening]) => !this.#announce(waiter, opening, now));
    const isAgain = (this.#looking as string) === "again" || given.length > 0;
    this.#looking = "no";
    const [first] = staying;
    if (isAgain) return await this.#look();
    if (first && this.#waiters.length > 0) this.#lookIn(first[1].at - now);
  }

  #lookIn(ms: number): void {
    // Others may die, and the provider may allow more than it seemed.
    const soon = Math.min(1000, Math.max(50, ms / 4));
    this.#timer = setTimeout(() => void this.#look(), Math.max(1, Math.min(ms, soon)));
  }

  /** Reports how long a call has to wait; false when it gives up. */
  #announce(waiter: Waiter, opening: Opening, now: number): boolean {
    const { call, fail } = waiter;
    const ms = Math.max(0, Math.ceil(opening.at - now));
    if (call.isTooLong?.(ms)) {
      this.#leave([waiter]);
      fail(new TooLong(ms, opening.for));
      return false;
    }
    if (opening.at > waiter.announced + lateMs && ms >= leastAnnouncedMs) {
      waiter.announced = opening.at;
      call.onWait?.(ms, opening.for);
    }
    return true;
  }

  #leave(waiters: readonly Waiter[]): void {
    this.#waiters = this.#waiters.filter((waiter) => !waiters.includes(waiter));
  }

  /** Changes the bucket; what `change` returns is whether it has. False when the value can't be shared. */
  async #update(change: (bucket: Bucket, now: number) => boolean): Promise<boolean> {
    return await this.#shared.update(this.#name, (value) => {
      const now = Date.now();
      const bucket = new Bucket(value, now);
      return change(bucket, now) ? bucket.value : undefined;
    });
  }
}
