import { createRoot, openRoot } from "../disk/root.ts";
import type { Outcome } from "../engine/ending.ts";
import { definedEnv } from "../local/workers/surroundings.ts";
import type { ThreadRef } from "../record/thread.ts";
import { type Claim, FencedError, type ThreadStore } from "../store/store.ts";
import type { Environment } from "../system/port.ts";
import { system } from "../system/system.ts";
import { markVariable } from "../system/worker-env.ts";
import { isolate as isolateBundles } from "../worker/isolate.ts";
import type { Live } from "../worker/live.ts";
import { Bell } from "./bell.ts";
import { Drivers } from "./drivers.ts";
import { Failures } from "./failures.ts";
import { StoredThreads } from "./stored-threads.ts";

/** Options of a worker of a store. */
export type StoreWorkerOptions = {
  /** Environment of threads. The worker never writes it to a log. */
  env: Environment;
  /** Working folder of threads; by default the folder in which each thread was started, on this machine. */
  cwd?: string;
  /** Folder of this worker for bundles and worktrees. It may be deleted after the worker has ended. */
  cache: string;
  /**
   * Whether bundles own this process: their output goes to the logs of their threads, and they can't end the process.
   */
  isolate?: boolean;
  /** Receives one line for each thread that this worker can't drive, for example because its bundle is missing. */
  report?: (line: string) => void;
  /** Name of this worker in lists: unique, with the process id as its last word. */
  owner?: string;
  /**
   * Length of the leases of its claims in milliseconds. After this time another worker continues the threads of a
   * frozen worker.
   */
  leaseMs?: number;
  /** Drives only threads of these bundles. */
  onlyHashes?: readonly string[];
  /** Maximum number of concurrent threads. */
  limit?: number;
};

/** A worker that drives threads of a store until `drain` or `close`. */
export type StoreWorker = {
  /** The number of driven threads. */
  readonly count: number;
  /**
   * Releases every thread at its next yield, so that other workers continue it. Resolves when all threads are released.
   * Aborts roles that still run after 10 seconds; other workers run these roles again.
   */
  drain(): Promise<void>;
  /**
   * Releases every thread at its next yield. Does not claim threads until `accept`, for example while a clock is wrong.
   */
  hold(): void;
  /** Claims threads again after `hold`. */
  accept(): void;
  /** Drains, and releases the resources of the worker. The store stays open. */
  close(): Promise<void>;
};

/** Interval of searches without a reported change, in milliseconds. */
const pollMs = 1_000;
/**
 * Pauses between two searches, in milliseconds. They grow while other workers' changes cause searches without a result.
 */
const [firstPauseMs, longestPauseMs] = [20, 160];
/** Interval of checks of driven threads that other processes have changed, in milliseconds. */
const lookMs = 500;
/** A waiting thread that continues without an answer within this time in milliseconds keeps its claim. */
const soonMs = 1_000;
const drainMs = 10_000;
/** Maximum number of threads claimed at once, which leaves threads to other workers. */
const atOnce = 8;
const mostKept = 1_000;

/**
 * Drives the runnable and due threads of a store in this process, with claims that it renews. Any number of workers
 * drive the threads of one store.
 * @throws WorkflowError the errors of a storage root for the cache, and of the store
 */
export async function driveStore(
  store: ThreadStore,
  options: StoreWorkerOptions,
): Promise<StoreWorker> {
  const folder = openRoot({ path: options.cache });
  createRoot(folder);
  const worker = new Worker(store, folder, options);
  await worker.begin();
  return worker;
}

class Worker implements StoreWorker {
  readonly #store: ThreadStore;
  readonly #options: StoreWorkerOptions;
  readonly #owner: string;
  readonly #limit: number;
  readonly #drivers: Drivers;
  readonly #bell = new Bell();
  readonly #closed = new AbortController();
  /** Threads that are being claimed. */
  readonly #opening = new Set<string>();
  /** Driven threads that the store reported as changed. */
  readonly #changed = new Set<string>();
  readonly #failures: Failures;
  /** Threads whose claims ended because the store did not answer. The store may still record these claims. */
  readonly #broken = new Map<string, ThreadRef>();
  /** Number of steps of changed threads at their last check. */
  readonly #looked = new Map<string, number>();
  /** Threads at rest whose list entries are not stored yet. */
  readonly #toKeep = new Set<string>();
  readonly #threads: StoredThreads;
  #isLooking = false;
  /** The time at which the next thread released by this worker is due. */
  #dueAt = Number.POSITIVE_INFINITY;
  #isDraining = false;
  /** Whether the worker does not claim threads, because it drains or `hold` was called. */
  #isHeld = false;

  constructor(
    store: ThreadStore,
    folder: ReturnType<typeof openRoot>,
    options: StoreWorkerOptions,
  ) {
    const { env, cwd, leaseMs = 30_000, limit = 100, owner } = options;
    this.#store = store;
    this.#options = options;
    this.#limit = limit;
    this.#failures = new Failures(store, (line) => options.report?.(line));
    this.#owner = owner ?? `worker ${mark} ${system.processes.pid}`;
    this.#drivers = new Drivers({
      ...{ store, folder, claims: { owner: this.#owner, leaseMs } },
      env: { ...definedEnv(env), [markVariable]: mark },
      ...(cwd !== undefined && { options: { cwd } }),
      onChange: () => undefined,
      watcher: {
        began: (live) => this.#began(live),
        rests: (live) => this.#rests(live),
        gone: (claim, outcome) => void this.#gone(claim, outcome),
      },
    });
    this.#threads = new StoredThreads(store, this.#drivers);
  }

  get count(): number {
    return this.#drivers.driven.size;
  }

  /** Starts the worker. Resolves once changes of the store wake it. */
  async begin(): Promise<void> {
    if (this.#options.isolate === true) isolateBundles(this.#drivers);
    await this.#store.runnable({ now: system.clock.now(), limit: 1 });
    const ready = Promise.withResolvers<void>();
    void this.#watch(ready.resolve);
    await ready.promise;
    void this.#search();
  }

  hold(): void {
    this.#isHeld = true;
    for (const live of this.#drivers.driven.values()) this.#letGo(live);
  }

  accept(): void {
    this.#isHeld = this.#isDraining;
    this.#bell.ring();
  }

  async drain(): Promise<void> {
    this.#isDraining = true;
    this.hold();
    this.#bell.ring();
    const late = system.clock.elapsed() + drainMs;
    while (this.count + this.#opening.size > 0 && system.clock.elapsed() < late) {
      await this.#bell.within(this.#bell.next(), late - system.clock.elapsed());
    }
    await this.#drivers.close();
  }

  async close(): Promise<void> {
    await this.drain();
    this.#closed.abort();
    this.#bell.ring();
  }

  /** Claims threads until this worker drains. */
  async #search(): Promise<void> {
    for (let pauseMs = firstPauseMs; !this.#isDraining; ) {
      const ring = this.#bell.next();
      let isFound = false;
      try {
        isFound = await this.#take();
        this.#failures.answers();
      } catch (error) {
        this.#failures.silent(error);
      }
      if (this.#isDraining) return;
      if (isFound) {
        pauseMs = firstPauseMs;
        continue;
      }
      await system.clock.sleep(pauseMs);
      const since = system.clock.elapsed();
      const untilDue = Math.max(0, this.#dueAt - system.clock.now());
      await this.#bell.within(ring, Math.min(pollMs, untilDue));
      const isBusy = system.clock.elapsed() - since < pauseMs;
      pauseMs = isBusy ? Math.min(2 * pauseMs, longestPauseMs) : firstPauseMs;
    }
  }

  /** Starts to drive some runnable threads. Returns false if it found none. */
  async #take(): Promise<boolean> {
    const busy = this.count + this.#opening.size;
    const free = Math.min(atOnce, this.#limit - busy);
    if (free <= 0 || this.#isHeld) return false;
    const now = system.clock.now();
    if (this.#dueAt <= now) this.#dueAt = Number.POSITIVE_INFINITY;
    const { onlyHashes: hashes } = this.#options;
    const limit = 2 * free + this.#opening.size;
    const runnable = await this.#store.runnable({ now, limit, ...(hashes && { hashes }) });
    const lost = await this.#lostClaims();
    const mayOpen = ({ threadId }: ThreadRef) =>
      !this.#opening.has(threadId) &&
      !this.#drivers.driven.has(threadId) &&
      this.#failures.mayDrive(threadId);
    const ours = [...lost, ...shuffled(runnable)].filter(mayOpen).slice(0, free);
    if (this.#isHeld) return false;
    const opened = Promise.all(ours.map((ref) => this.#open(ref, lost.includes(ref))));
    // A slow bundle must not delay other threads.
    const late = Promise.withResolvers<void>();
    const cancel = system.clock.after(lookMs, late.resolve);
    await Promise.race([opened, late.promise]);
    cancel();
    return ours.length > 0;
  }

  /** Returns threads that the store still counts as claimed by this worker although the worker has stopped them. */
  async #lostClaims(): Promise<ThreadRef[]> {
    const lost: ThreadRef[] = [];
    for (const [threadId, ref] of this.#broken) {
      if (!this.#failures.isOver(threadId)) continue;
      const info = await this.#store.find(threadId);
      if (info?.owner === this.#owner) lost.push(ref);
      else this.#broken.delete(threadId);
    }
    return lost;
  }

  async #open({ hash, threadId }: ThreadRef, takeOver: boolean): Promise<void> {
    this.#opening.add(threadId);
    try {
      await this.#drivers.of(hash).drive(threadId, { takeOver });
    } catch (error) {
      await this.#failures.add({ hash, threadId }, error);
    } finally {
      this.#opening.delete(threadId);
      this.#bell.ring();
    }
  }

  #began(live: Live): void {
    this.#broken.delete(live.ref.threadId);
    if (this.#isHeld) this.#letGo(live);
  }

  #rests(live: Live): void {
    const { engine } = live;
    if (engine.status === "paused") return this.#release(live);
    const { wakesAt } = engine;
    if (wakesAt === null || wakesAt - system.clock.now() > soonMs) this.#release(live);
    if (wakesAt !== null) this.#dueAt = Math.min(this.#dueAt, wakesAt);
  }

  async #gone({ ref }: Claim, outcome: Outcome): Promise<void> {
    const { threadId } = ref;
    this.#changed.delete(threadId);
    this.#looked.delete(threadId);
    this.#bell.ring();
    if (outcome.kind !== "brokenOff") {
      this.#failures.forget(threadId);
      this.#keep(threadId);
    } else if (!(outcome.error instanceof FencedError)) {
      this.#broken.set(threadId, ref);
      await this.#failures.addRefused(ref, outcome.error);
    }
  }

  /** Stores the list entry of a thread, after the entries of other threads. */
  #keep(threadId: string): void {
    if (this.#toKeep.size >= mostKept || this.#isDraining) return;
    this.#toKeep.add(threadId);
    if (this.#toKeep.size === 1) void this.#keepAll();
  }

  async #keepAll(): Promise<void> {
    for (const threadId of this.#toKeep) {
      // Ignore errors: a host computes a missing entry.
      await this.#threads.keep(threadId).catch(() => undefined);
      this.#toKeep.delete(threadId);
    }
  }

  /** Releases a thread at its next yield. */
  #letGo(live: Live): void {
    if (live.engine.status === "waiting") this.#release(live);
    else live.engine.pause();
  }

  #release({ engine }: Live): void {
    // The engine must first return from its call of `rests`.
    void system.clock.turn().then(async () => {
      if (!engine.over) await engine.release();
    });
  }

  async #watch(onReady: () => void): Promise<void> {
    const { signal } = this.#closed;
    while (!signal.aborted) {
      try {
        for await (const change of this.#store.watch(signal)) {
          if (change.kind === "ready") onReady();
          if ("ref" in change) this.#see(change.ref.threadId);
          if (signal.aborted) return;
        }
        if (signal.aborted) return;
      } catch (error) {
        this.#failures.silent(error);
      }
      // Searches continue by polling.
      onReady();
      await system.clock.sleep(pollMs);
    }
  }

  #see(threadId: string): void {
    if (this.#drivers.driven.has(threadId)) {
      this.#changed.add(threadId);
      void this.#look();
    } else if (!this.#opening.has(threadId)) this.#bell.ring();
  }

  /** Checks driven threads that other processes may have paused, resumed, ended, removed or claimed. */
  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    while (this.#changed.size > 0 && !this.#closed.signal.aborted) {
      const ids = [...this.#changed];
      this.#changed.clear();
      await Promise.all(ids.map((threadId) => this.#lookAt(threadId).catch(() => undefined)));
      await system.clock.sleep(lookMs);
    }
    this.#isLooking = false;
  }

  async #lookAt(threadId: string): Promise<void> {
    const live = this.#drivers.driven.get(threadId);
    if (!live || live.engine.over) return;
    const { engine } = live;
    const { isPausing: was, steps } = engine;
    const isAdvancing = steps > (this.#looked.get(threadId) ?? steps);
    this.#looked.set(threadId, steps);
    // The last append has reported whether the thread is paused or lost; the next check finds later changes.
    if (isAdvancing && !was) {
      this.#changed.add(threadId);
      return;
    }
    const info = await this.#store.find(threadId);
    if (engine.over) return;
    if (info?.owner !== this.#owner || info.state.kind === "ended") {
      return await this.#drivers.check(threadId);
    }
    // An append may have reported a later pause to the engine.
    if (this.#isHeld || engine.isPausing !== was || info.paused === was) return;
    if (info.paused) engine.pause();
    else engine.resume();
  }
}

function shuffled<T>(all: readonly T[]): T[] {
  const list = [...all];
  for (let n = list.length - 1; n > 0; n -= 1) {
    const other = Math.floor(system.random() * (n + 1));
    [list[n], list[other]] = [list[other] as T, list[n] as T];
  }
  return list;
}

/** Mark in the environment of step processes, which must not answer questions. */
const mark = crypto.randomUUID().slice(0, 8);
