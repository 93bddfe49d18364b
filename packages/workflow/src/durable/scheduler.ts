/**
 * The scheduler of concurrent work whose results are committed one after the other.
 *
 * Owns: the one queue between concurrent tasks and the generator that yields what they commit; which
 * tasks are in flight; the limit; cancellation. Does not own: what a task does, what an item is, how
 * it is recorded. May call: the tasks. Is called by: `step.all`, step workflows, and any other generator
 * of concurrent steps. Invariants, cited by the tests:
 *
 * - **S1** Items leave the queue in the order in which they were put in, one at a time, to one reader.
 * - **S2** `commit` resolves when the reader asks for the item after it. A generator is asked for the
 *   next item when the last one is durable, so a task continues only after a durable commit.
 * - **S3** While a wait is open no task is in flight and none starts. What was in flight finishes
 *   first, and its items come before the wait's. One wait at a time.
 * - **S4** At most `limit` tasks of one `concurrently` run, and a task is taken from its iterable when
 *   there is room for it.
 * - **S5** `cancel` aborts the signal and no more: what tasks put in is still read. After `close`
 *   nothing is put in, and what was not read before never settles: a late result changes nothing.
 * - **S6** A failure that the scheduler is closed with is thrown behind all that was put in before. A
 *   reader that ends closes the scheduler.
 * - **S7** A recorded commit belongs to the open task with its key, in whatever order tasks finished.
 *   What is then still open is still to do.
 */
export class Scheduler<Item, Answer = undefined> {
  /** The tasks in flight: shared with the schedulers of what one of these tasks runs in itself. */
  readonly flight: Flight;
  readonly #turns = new Set<Turn>();
  readonly #abort = new AbortController();
  #queue: Entry<Item, Answer>[] = [];
  #wake: (() => void) | null = null;
  #isClosed = false;
  #failure: { error: unknown } | null = null;

  /** @param flight That of the scheduler around it: a wait then holds the tasks of both. */
  constructor(flight: Flight = new Flight()) {
    this.flight = flight;
  }

  /** Aborted when it is cancelled or closed. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  publish(item: Item): void {
    this.#put({ item, settle: null });
  }

  /** Puts in an item and resolves when it is durable (S2). */
  commit(item: Item): Promise<void> {
    return new Promise((resolve) => this.#put({ item, settle: () => resolve() }));
  }

  /** Puts in a question and resolves with the answer that the reader was given for it. */
  ask(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const settle = (answer: Answer | undefined): void =>
        answer === undefined ? reject(new Error("nobody answered")) : resolve(answer);
      this.#put({ item, settle });
    });
  }

  /** Runs a task as one in flight: when no wait is open, and until the task has settled (S3). */
  async run<T>(task: (turn: Turn) => Promise<T>): Promise<T> {
    const turn = new Turn(this.flight, () => this.#isClosed);
    this.#turns.add(turn);
    try {
      await turn.enter();
      return await task(turn);
    } finally {
      turn.leave();
      this.#turns.delete(turn);
    }
  }

  cancel(reason?: unknown): void {
    this.#abort.abort(reason);
  }

  /** Ends it after what is in the queue; with `failure` the reader then gets that error (S6). */
  close(failure?: { error: unknown }): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#failure = failure ?? null;
    this.cancel();
    // Its tasks may stand still for ever: they must not keep a scheduler around it from waiting.
    for (const turn of this.#turns) turn.leave();
    this.#wake?.();
  }

  /** What was put in, for the one reader. The answer to a question is the value of `next()`. */
  async *items(): AsyncGenerator<Item, void, Answer | undefined> {
    try {
      for (;;) {
        const batch = this.#queue;
        this.#queue = [];
        for (const { item, settle } of batch) {
          const answer = yield item;
          settle?.(answer);
        }
        if (this.#queue.length > 0) continue;
        if (this.#isClosed) break;
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.close();
    }
    if (this.#failure) throw this.#failure.error;
  }

  #put(entry: Entry<Item, Answer>): void {
    if (this.#isClosed) return;
    this.#queue.push(entry);
    this.#wake?.();
  }
}

type Entry<Item, Answer> = { item: Item; settle: ((answer: Answer | undefined) => void) | null };

/** How many tasks are in flight, and the wait that none may start during. */
export class Flight {
  #count = 0;
  #wait: Promise<void> | null = null;
  #onIdle: (() => void) | null = null;

  /** Calls back at a moment when no wait is open: nothing comes between the two. */
  async whenClear<T>(then: () => T): Promise<T> {
    while (this.#wait) await this.#wait;
    return then();
  }

  count(tasks: 1 | -1): void {
    this.#count += tasks;
    if (this.#count === 0) this.#onIdle?.();
  }

  /** Does what a wait is for, alone; `reenter` counts the task that waited before others may go on. */
  async alone<T>(wait: () => Promise<T>, reenter: () => void): Promise<T> {
    let reopen = (): void => undefined;
    await this.whenClear(() => {
      this.#wait = new Promise((resolve) => (reopen = resolve));
    });
    try {
      if (this.#count > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
      return await wait();
    } finally {
      this.#onIdle = null;
      this.#wait = null;
      reenter();
      reopen();
    }
  }
}

/** A task's place among those in flight. */
export class Turn {
  readonly #flight: Flight;
  readonly #isOver: () => boolean;
  #isCounted = false;

  constructor(flight: Flight, isOver: () => boolean) {
    this.#flight = flight;
    this.#isOver = isOver;
  }

  enter(): Promise<void> {
    return this.#flight.whenClear(() => this.#count());
  }

  leave(): void {
    if (!this.#isCounted) return;
    this.#isCounted = false;
    this.#flight.count(-1);
  }

  /** Runs tasks that this one consists of: meanwhile it is not in flight itself. */
  async aside<T>(inner: () => Promise<T>): Promise<T> {
    this.leave();
    try {
      const result = await inner();
      await this.enter();
      return result;
    } finally {
      // One that has failed does not wait for an answer first.
      this.#count();
    }
  }

  /** Waits: when all that is in flight has finished, and alone (S3). */
  wait<T>(wait: () => Promise<T>): Promise<T> {
    this.leave();
    return this.#flight.alone(wait, () => this.#count());
  }

  #count(): void {
    if (this.#isCounted || this.#isOver()) return;
    this.#isCounted = true;
    this.#flight.count(1);
  }
}

/**
 * `limit` is the most tasks at once, 0 (the default) for no limit; `signal` aborts them. A failure aborts the
 * other tasks' signal and is thrown at once; with `settle` all end.
 */
export type ConcurrencyOptions = {
  limit?: number;
  signal?: AbortSignal;
  onFailure?: "abort" | "settle";
};

/** A task that failed, by its number from 0. */
export type TaskFailure = { index: number; error: unknown };

/** Runs tasks concurrently (S4). Gives the values in their order, undefined for one that failed, and the failures. */
export function concurrently<T>(
  tasks: Iterable<(signal: AbortSignal) => Promise<T>>,
  { limit = 0, signal, onFailure = "abort" }: ConcurrencyOptions = {},
): Promise<{ values: (T | undefined)[]; failures: TaskFailure[] }> {
  const abort = new AbortController();
  const onAbort = (): void => abort.abort(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted) onAbort();
  const values: (T | undefined)[] = [];
  const failures: TaskFailure[] = [];
  const all = new Promise<void>((resolve, reject) => {
    const iterator = tasks[Symbol.iterator]();
    let running = 0;
    let isDrained = false;
    const start = async (task: (signal: AbortSignal) => Promise<T>): Promise<void> => {
      const index = values.push(undefined) - 1;
      running += 1;
      try {
        values[index] = await task(abort.signal);
      } catch (error) {
        failures.push({ index, error });
        if (onFailure === "abort") {
          reject(error);
          isDrained = true;
          abort.abort(error);
        }
      }
      running -= 1;
      fill();
    };
    const fill = (): void => {
      try {
        while (!isDrained && (limit === 0 || running < limit)) {
          const next = iterator.next();
          if (next.done === true) isDrained = true;
          else void start(next.value);
        }
      } catch (error) {
        isDrained = true;
        abort.abort(error);
        reject(error);
      }
      if (isDrained && running === 0) resolve();
    };
    fill();
  });
  return all
    .then(() => ({ values, failures }))
    .finally(() => signal?.removeEventListener("abort", onAbort));
}

/**
 * The fold of what is committed back to what is still to do (S7): gives each commit with its task, undefined
 * when that is not open, and takes it off `open`. It reads no commit behind the last one that it needs.
 */
export function* recorded<Task, Commit>(
  open: Map<string, Task>,
  commits: Iterable<Commit>,
  keyOf: (commit: Commit) => string,
): Generator<{ commit: Commit; task: Task | undefined }, void> {
  if (open.size === 0) return;
  for (const commit of commits) {
    const key = keyOf(commit);
    const task = open.get(key);
    open.delete(key);
    yield { commit, task };
    if (open.size === 0) return;
  }
}

/** Lets so many tasks work at once; the others wait for their turn. */
export class Limit {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(most: number) {
    this.#free = most;
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    await this.#take();
    try {
      return await task();
    } finally {
      this.#give();
    }
  }

  /** Lets others work while one that works waits. */
  async aside<T>(wait: () => Promise<T>): Promise<T> {
    this.#give();
    try {
      return await wait();
    } finally {
      await this.#take();
    }
  }

  async #take(): Promise<void> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #give(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#free += 1;
  }
}
