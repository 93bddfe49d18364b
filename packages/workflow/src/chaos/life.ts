import type { LoadedBundle } from "../bundle/store.ts";
import type { ThreadStore } from "../store/store.ts";
import { SharedEnv } from "../worker/context.ts";
import type { ThreadsParts } from "../worker/parts.ts";
import { Threads } from "../worker/threads.ts";
import type { Executions } from "./executions.ts";
import type { FaultPlan } from "./faults.ts";
import { type Mortal, mortalStore, type OnRecord } from "./mortal-store.ts";

/** The parts of a simulated process. */
export type LifeParts = {
  hash: string;
  store: ThreadStore;
  place: ThreadsParts["place"];
  /** Loads another copy of the bundle's module, as a new process does. */
  load: () => Promise<LoadedBundle>;
  plan: FaultPlan;
  executions: Executions;
  onRecord: OnRecord;
};

/**
 * A simulated worker process: the `Threads` of a worker over a store, and its own copy of the module. Its death is like
 * `kill -9`: generators and roles stop at their next call of the store, and no `finally` block runs.
 */
export class Life implements Mortal {
  readonly threads: Threads;
  unacknowledged = 0;
  readonly #parts: LifeParts;
  readonly #death = Promise.withResolvers<"dead">();
  #isDead = false;
  #changed = Promise.withResolvers<void>();

  constructor(parts: LifeParts) {
    this.#parts = parts;
    let bundle: Promise<LoadedBundle> | null = null;
    const load = async (): Promise<LoadedBundle> => {
      const loaded = await parts.load();
      return { ...loaded, run: parts.executions.watch(loaded.run) };
    };
    this.threads = new Threads({
      store: mortalStore(parts.store, this, parts.plan, parts.onRecord),
      hash: parts.hash,
      place: parts.place,
      orphans: { ended: Promise.resolve(), report: {}, besideFork: async () => ({}) },
      env: new SharedEnv({}),
      load: () => (bundle ??= load()),
      note: () => undefined,
      onChange: () => this.#ring(),
    });
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  die(): void {
    this.#isDead = true;
    this.#death.resolve("dead");
    this.#ring();
  }

  frozen(): Promise<never> {
    this.#parts.executions.freeze();
    return new Promise(() => undefined);
  }

  /** Resolves with the result of a call, or with `dead` if this process dies first. */
  async call<T>(work: Promise<T>): Promise<T | "dead"> {
    work.catch(() => undefined);
    return await Promise.race([work, this.#death.promise]);
  }

  /** Resolves at the next change of a thread. Get it before you read the state. */
  get changed(): Promise<void> {
    return this.#changed.promise;
  }

  /** Releases the threads of a process that is alive. */
  async close(): Promise<void> {
    if (!this.#isDead) await this.threads.release();
  }

  #ring(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
