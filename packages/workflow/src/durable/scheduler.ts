/**
 * Scheduler of concurrent work that commits results in sequence.
 *
 * Owns: the one queue between concurrent tasks and the generator that yields their commits; the set of tasks in flight;
 * the limit; cancellation. Does not own: the work of a task, the content of an item, or its record. Calls: the tasks.
 * Called by: `step.all`, step workflows, and any other generator of concurrent steps. The tests cite these invariants:
 *
 * - **S1** One reader gets the items one at a time, in the order in which they were added to the queue.
 * - **S2** `commit` resolves when the reader requests the next item. The engine requests the next item of a generator
 * when the last step is durable, so a task continues only after a durable commit.
 * - **S3** While a wait is open no task is in flight and none starts. Tasks in flight finish first, and their items
 * come before the item of the wait. One wait at a time.
 * - **S4** At most `limit` tasks of one `concurrently` run at once. A task is taken from the iterable only when it can
 * start.
 * - **S5** `cancel` only aborts the signal: items in the queue are still read. After `close` the queue does not accept
 * items, and unread commits never settle, so a late result has no effect.
 * - **S6** A failure passed to `close` is thrown after all earlier items. The scheduler closes when its reader ends.
 * - **S7** A recorded commit belongs to the open task with its key, in any order of tasks. Tasks that stay open must
 * still run.
 */
export class Scheduler<Item, Answer = undefined> {
  /** Tasks in flight, shared with the schedulers that run inside of one of these tasks. */
  readonly flight: Flight;
  readonly #turns = new Set<Turn>();
  readonly #abort = new AbortController();
  #queue: Entry<Item, Answer>[] = [];
  #wake: (() => void) | null = null;
  #isClosed = false;
  #failure: { error: unknown } | null = null;

  /** @param flight The tasks in flight of an outer scheduler: a wait then blocks the tasks of both schedulers. */
  constructor(flight: Flight = new Flight()) {
    this.flight = flight;
  }

  /** Aborted when the scheduler is cancelled or closed. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Adds an item to the queue. */
  publish(item: Item): void {
    this.#put({ item, settle: null });
  }

  /** Adds an item to the queue and resolves when it is durable (S2). */
  commit(item: Item): Promise<void> {
    return new Promise((resolve) => this.#put({ item, settle: () => resolve() }));
  }

  /** Adds a question to the queue and resolves with the answer of the reader. */
  ask(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const settle = (answer: Answer | undefined): void =>
        answer === undefined ? reject(new Error("no answer")) : resolve(answer);
      this.#put({ item, settle });
    });
  }

  /** Runs a task once no wait is open; it is in flight until it has settled (S3). */
  async run<T>(task: (turn: Turn) => Promise<T>): Promise<T> {
    const turn = new Turn(this.flight, () => this.#isClosed);
    this.#turns.add(turn);
    try {
      await turn.enter();
      return await task(turn);
    } finally {
      turn.end();
      this.#turns.delete(turn);
    }
  }

  /** Aborts the signal (S5). */
  cancel(reason?: unknown): void {
    this.#abort.abort(reason);
  }

  /** Closes the scheduler after the queued items; with `failure` the reader then gets that error (S6). */
  close(failure?: { error: unknown }): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#failure = failure ?? null;
    this.cancel();
    // The tasks of this scheduler may hang forever: they must not block waits of an outer scheduler.
    for (const turn of this.#turns) turn.leave();
    this.#wake?.();
  }

  /** Yields the items to the one reader. The answer to a question is the value of `next()`. */
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

/** Number of tasks in flight, and the open wait, during which no task may start. */
export class Flight {
  #count = 0;
  #wait: Promise<void> | null = null;
  #onIdle: (() => void) | null = null;

  /** Calls `then` synchronously once no wait is open. */
  async whenClear<T>(then: () => T): Promise<T> {
    while (this.#wait) await this.#wait;
    return then();
  }

  /** Changes the number of tasks in flight. */
  count(tasks: 1 | -1): void {
    this.#count += tasks;
    if (this.#count === 0) this.#onIdle?.();
  }

  /**
   * Runs a wait while no task is in flight. `reenter` counts the waiting task again before other tasks may continue.
   */
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

/** A task's place among the tasks in flight. */
export class Turn {
  readonly #flight: Flight;
  readonly #isOver: () => boolean;
  #isCounted = false;
  #hasEnded = false;

  constructor(flight: Flight, isOver: () => boolean) {
    this.#flight = flight;
    this.#isOver = isOver;
  }

  /** Counts the task as in flight once no wait is open. */
  enter(): Promise<void> {
    return this.#flight.whenClear(() => this.#count());
  }

  /** Ends the task. An aborted task ends before the subtasks that it waits for: these no longer count it. */
  end(): void {
    this.#hasEnded = true;
    this.leave();
  }

  /** Ends the task's time in flight. */
  leave(): void {
    if (!this.#isCounted) return;
    this.#isCounted = false;
    this.#flight.count(-1);
  }

  /** Runs the subtasks of this task. The task is not in flight meanwhile. */
  async aside<T>(inner: () => Promise<T>): Promise<T> {
    this.leave();
    try {
      const result = await inner();
      await this.enter();
      return result;
    } finally {
      // If `inner` failed, count the task at once, without waiting for an open question.
      this.#count();
    }
  }

  /** Runs a wait alone, after all tasks in flight have finished (S3). */
  wait<T>(wait: () => Promise<T>): Promise<T> {
    this.leave();
    return this.#flight.alone(wait, () => this.#count());
  }

  #count(): void {
    if (this.#isCounted || this.#hasEnded || this.#isOver()) return;
    this.#isCounted = true;
    this.#flight.count(1);
  }
}

/**
 * Options of {@link concurrently}. `limit` is the maximum number of tasks at once; the default of 0 means unlimited.
 * `signal` aborts the tasks. With `onFailure: "abort"`, the default, a failure aborts the other tasks' signal and is
 * thrown at once; with `settle` all tasks end.
 */
export type ConcurrencyOptions = {
  limit?: number;
  signal?: AbortSignal;
  onFailure?: "abort" | "settle";
};

/** A failed task, by its index from 0. */
export type TaskFailure = { index: number; error: unknown };

/** Runs tasks concurrently (S4). Returns the values in their order, undefined for a failed task, and the failures. */
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
 * Folds commits into open tasks (S7): yields each commit with its task, or undefined if the task is not open, and
 * removes the task from `open`. Stops reading after the last commit that it needs.
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

/** Limits the number of tasks that work at once. The other tasks wait in a queue. */
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

  /** Releases the task's slot while it waits. */
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
