import { bundleChanged, bundleMissing } from "../bundle/errors.ts";
import { hashOf } from "../bundle/hash.ts";
import { makeTemporary } from "../bundle/child.ts";
import { type LoadedBundle, loadBundle } from "../bundle/store.ts";
import { writeBundleFiles } from "../disk/bundle-files.ts";
import type { Root } from "../disk/paths.ts";
import { createRoot, openRoot } from "../disk/root.ts";
import type { LiveFacts, LiveRow, ThreadRef } from "../record/thread.ts";
import type { Claim, ClaimOptions, ThreadStore } from "../store/store.ts";
import { system } from "../system/system.ts";
import { recordEvents, SharedEnv } from "../worker/context.ts";
import type { Live } from "../worker/live.ts";
import { ownClaims } from "../worker/open.ts";
import type { DriveWatcher, ThreadsParts } from "../worker/parts.ts";
import { Threads } from "../worker/threads.ts";
import { placeIn } from "../worker/worker.ts";
import type { ActiveThread, Activity } from "./activity.ts";
import { Leases } from "./leases.ts";

/** Parts of a process that drives threads of a store. */
export type DriversParts = {
  store: ThreadStore;
  onChange: () => void;
  claims?: Pick<ClaimOptions, "owner" | "leaseMs">;
  /** Folder for loaded modules and worktrees; by default a temporary folder, deleted by `close`. */
  folder?: Root;
  /** Environment of all threads, besides the environment of their requests. */
  env?: Readonly<Record<string, string>>;
  options?: ThreadsParts["options"];
  watcher?: DriveWatcher;
  /** Called for a claim that was lost, or not renewed in time. */
  onLost?: (claim: Claim) => void;
};

/** Drives threads of a store in this process, with one driver per bundle, and renews their claims. */
export class Drivers implements Activity {
  readonly lookEveryMs = 300;
  readonly #parts: DriversParts;
  readonly #claims: Pick<ClaimOptions, "owner" | "leaseMs">;
  readonly #leases: Leases;
  readonly #byHash = new Map<string, Threads>();
  readonly #live = new Map<string, Live>();
  #temporary: Root | null = null;

  constructor(parts: DriversParts) {
    const { store, claims = ownClaims(), onLost = () => undefined } = parts;
    this.#parts = parts;
    this.#claims = claims;
    this.#leases = new Leases(store, claims.leaseMs, onLost);
  }

  /** Returns the driver of a bundle's threads. */
  of(hash: string): Threads {
    const known = this.#byHash.get(hash);
    if (known) return known;
    recordEvents();
    const root = this.#root();
    const { store, env = {}, options, onChange } = this.#parts;
    let bundle: Promise<LoadedBundle> | null = null;
    const load = (): Promise<LoadedBundle> => {
      bundle ??= this.#load(root, hash).catch((error: unknown) => {
        bundle = null;
        throw error;
      });
      return bundle;
    };
    const threads = new Threads({
      ...{ store, hash, load, onChange, claims: this.#claims },
      place: this.#placeOf(root, hash),
      // Processes started by steps end with this process.
      orphans: { ended: Promise.resolve(), report: {}, besideFork: async () => ({}) },
      env: new SharedEnv(env),
      ...(options && { options }),
      note: () => undefined,
      watcher: this.#watcher,
    });
    this.#byHash.set(hash, threads);
    return threads;
  }

  readonly #watcher: DriveWatcher = {
    began: (live, claim) => {
      this.#live.set(live.ref.threadId, live);
      this.#leases.add(live, claim);
      this.#parts.watcher?.began(live, claim);
    },
    rests: (live) => this.#parts.watcher?.rests(live),
    gone: (claim, outcome) => {
      this.#leases.remove(claim);
      this.#live.delete(claim.ref.threadId);
      this.#parts.watcher?.gone(claim, outcome);
    },
  };

  /** The driven threads by id. */
  get driven(): ReadonlyMap<string, Live> {
    return this.#live;
  }

  /** Renews the claim of a thread. Stops the thread if its claim was lost. */
  async check(threadId: string): Promise<void> {
    await this.#leases.check(threadId);
  }

  /** A function that fails the thread that caused an uncaught error; null unless only one thread was driven. */
  get failOnly(): ((thrown: unknown) => void) | null {
    const [only, ...others] = this.#byHash.values();
    return others.length === 0 ? (only?.failOnly ?? null) : null;
  }

  /** Records an uncaught error in the driven threads. */
  noteUncaught(thrown: unknown): void {
    for (const threads of this.#byHash.values()) threads.noteUncaught(thrown);
  }

  /** Returns the driven threads, oldest first. */
  live(): LiveRow[] {
    const { pid } = system.processes;
    return [...this.#byHash]
      .flatMap(([hash, threads]) => threads.list().map((thread) => ({ ...thread, hash, pid })))
      .sort((a, b) => (a.threadId < b.threadId ? -1 : 1));
  }

  async active(): Promise<ActiveThread[]> {
    return this.live().map(({ hash, threadId, status, role, pausing }) => ({
      ...{ hash, threadId },
      facts: JSON.stringify([status, role, pausing]),
    }));
  }

  find({ hash, threadId }: ThreadRef): LiveFacts | null {
    const row = this.#byHash
      .get(hash)
      ?.list()
      .find((live) => live.threadId === threadId);
    if (!row) return null;
    const { status, pausing, role } = row;
    return { status, pid: system.processes.pid, role, ...(pausing && { pausing }) };
  }

  /** Stops driving all threads. The threads can be resumed. */
  async close(): Promise<void> {
    await Promise.all([...this.#byHash.values()].map((threads) => threads.release()));
    if (this.#temporary !== null) system.files.removeTree(this.#temporary);
    this.#temporary = null;
  }

  /**
   * Returns the place of a bundle's threads, without spending limits if the folder belongs to one of several workers.
   */
  #placeOf(root: Root, hash: string): ThreadsParts["place"] {
    const { spending, ...place } = placeIn(root, hash);
    return this.#parts.folder === undefined && spending ? { ...place, spending } : place;
  }

  #root(): Root {
    const { folder } = this.#parts;
    if (folder !== undefined) return folder;
    if (this.#temporary === null) {
      this.#temporary = openRoot({ path: makeTemporary("uncaged-embedded-") });
      createRoot(this.#temporary);
    }
    return this.#temporary;
  }

  async #load(root: Root, hash: string): Promise<LoadedBundle> {
    const bundle = await this.#parts.store.readBundle(hash);
    if (!bundle) throw bundleMissing(hash);
    const now = hashOf(bundle.code);
    if (now !== hash) throw bundleChanged(hash, now);
    writeBundleFiles(root, bundle);
    return await loadBundle(root, hash);
  }
}
