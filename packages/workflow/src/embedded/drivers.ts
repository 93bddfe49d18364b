import { hashOf } from "../bundle/hash.ts";
import { makeTemporary } from "../bundle/child.ts";
import { type LoadedBundle, loadBundle } from "../bundle/store.ts";
import { writeBundleFiles } from "../disk/bundle-files.ts";
import { createRoot, openRoot } from "../disk/root.ts";
import type { Root } from "../disk/paths.ts";
import type { LiveFacts, LiveRow, ThreadRef } from "../record/thread.ts";
import type { ThreadStore } from "../store/store.ts";
import { system } from "../system/system.ts";
import { recordEvents, SharedEnv } from "../worker/context.ts";
import { Threads } from "../worker/threads.ts";
import { placeIn } from "../worker/worker.ts";
import { bundleChanged, bundleMissing } from "../bundle/errors.ts";

/** Whether this process records the channel of workflow events. All workflows share one channel. */
let isRecording = false;

/** Drives the threads of a store in this process, with one driver per bundle. */
export class Drivers {
  readonly #store: ThreadStore;
  readonly #onChange: () => void;
  readonly #byHash = new Map<string, Threads>();
  /** Folder for loading modules and creating worktrees. */
  #folder: Root | null = null;

  constructor(store: ThreadStore, onChange: () => void) {
    this.#store = store;
    this.#onChange = onChange;
  }

  /** Returns the driver of a bundle's threads. */
  of(hash: string): Threads {
    const known = this.#byHash.get(hash);
    if (known) return known;
    if (!isRecording) recordEvents();
    isRecording = true;
    const root = this.#root();
    let bundle: Promise<LoadedBundle> | null = null;
    const load = (): Promise<LoadedBundle> => {
      bundle ??= this.#load(root, hash).catch((error: unknown) => {
        bundle = null;
        throw error;
      });
      return bundle;
    };
    const threads = new Threads({
      store: this.#store,
      hash,
      place: placeIn(root, hash),
      // Processes started by steps end with this process.
      orphans: { ended: Promise.resolve(), report: {}, besideFork: async () => ({}) },
      env: new SharedEnv({}),
      load,
      note: () => undefined,
      onChange: this.#onChange,
    });
    this.#byHash.set(hash, threads);
    return threads;
  }

  /** Returns the driven threads, oldest first. */
  live(): LiveRow[] {
    const { pid } = system.processes;
    return [...this.#byHash]
      .flatMap(([hash, threads]) => threads.list().map((thread) => ({ ...thread, hash, pid })))
      .sort((a, b) => (a.threadId < b.threadId ? -1 : 1));
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

  /** Stops driving all threads; each can be resumed. */
  async close(): Promise<void> {
    await Promise.all([...this.#byHash.values()].map((threads) => threads.release()));
    if (this.#folder !== null) system.files.removeTree(this.#folder);
    this.#folder = null;
  }

  #root(): Root {
    if (this.#folder === null) {
      this.#folder = openRoot({ path: makeTemporary("uncaged-embedded-") });
      createRoot(this.#folder);
    }
    return this.#folder;
  }

  async #load(root: Root, hash: string): Promise<LoadedBundle> {
    const bundle = await this.#store.readBundle(hash);
    if (!bundle) throw bundleMissing(hash);
    const now = hashOf(bundle.code);
    if (now !== hash) throw bundleChanged(hash, now);
    writeBundleFiles(root, bundle);
    return await loadBundle(root, hash);
  }
}
