import { type FSWatcher, watch } from "node:fs";
import type { HostChange } from "../host/host.ts";
import { readRegistry } from "../registry/read.ts";
import {
  isHash,
  isThreadId,
  loggedHashes,
  logsDir,
  type Root,
  threadsDir,
} from "../storage/paths.ts";
import type { LiveRow, ThreadRef } from "../thread/thread.ts";
import { readRow } from "./list.ts";
import { listLive } from "./live.ts";
import { allThreads } from "./threads.ts";

const mostOftenMs = 100;
const lookEveryMs = 500;
const freshMs = 400;
const listEveryMs = 2_000;

/** A thread as it was shown last; `live` when a worker reported that it drives it. */
type Seen = { ref: ThreadRef; steps: number; status: string | null; live: boolean };

/**
 * What changes in a storage root. The system reports which logs have grown; who is driven is asked twice a
 * second, for no log records a pause or the loss of a worker; and everything is listed now and then.
 *
 * @see Host.changes
 */
export async function* changes(root: Root, signal: AbortSignal): AsyncGenerator<HostChange> {
  const store = new Store(root, signal);
  try {
    await store.begin().catch(() => undefined);
    yield { kind: "ready" };
    while (!signal.aborted) {
      // A storage root that can't be read now may be read the next time.
      await store.look().catch(() => undefined);
      yield* store.take();
      await store.pause();
    }
  } finally {
    store.close();
  }
}

class Store {
  readonly #root: Root;
  readonly #signal: AbortSignal;
  readonly #seen = new Map<string, Seen>();
  readonly #changed = new Map<string, ThreadRef>();
  readonly #watch: StoreWatch;
  #wake = Promise.withResolvers<void>();
  #listedAt = performance.now();
  #names = "";
  readonly #news: HostChange[] = [];
  #askedAt = Number.NEGATIVE_INFINITY;
  #answer = new Map<string, LiveRow>();

  constructor(root: Root, signal: AbortSignal) {
    this.#root = root;
    this.#signal = signal;
    this.#watch = new StoreWatch(root, (ref) => {
      this.#changed.set(ref.threadId, ref);
      this.#wake.resolve();
    });
    signal.addEventListener("abort", this.#rouse);
  }

  close(): void {
    this.#watch.close();
    this.#signal.removeEventListener("abort", this.#rouse);
  }

  /** Learns what there is: who follows the changes has read the lists, or will. */
  async begin(): Promise<void> {
    for (const ref of allThreads(this.#root)) {
      this.#seen.set(ref.threadId, { ref, steps: -1, status: null, live: false });
    }
    // One that was live a moment ago may be dead by now, and no other change would name it.
    for (const ref of await listLive(this.#root)) {
      const { threadId, steps, status } = ref;
      this.#seen.set(threadId, { ref, steps, status, live: true });
    }
    this.#names = await this.#readNames();
  }

  /** What has changed since it was taken last. */
  take(): HostChange[] {
    return this.#news.splice(0);
  }

  async look(): Promise<void> {
    const live = await this.#live();
    const changed = [...this.#changed.values()];
    this.#changed.clear();
    for (const row of live.values()) await this.#lookAtLive(row);
    for (const { ref, live: wasLive } of this.#seen.values()) {
      if (wasLive && !live.has(ref.threadId)) await this.#show(ref, false);
    }
    for (const ref of changed) await this.#show(ref, live.has(ref.threadId));
    if (performance.now() - this.#listedAt >= listEveryMs) await this.#list();
  }

  /** Until something has changed, but from 0.1 to 0.6 seconds. */
  async pause(): Promise<void> {
    await Bun.sleep(mostOftenMs);
    const timer = setTimeout(this.#rouse, lookEveryMs);
    if (!this.#signal.aborted) await this.#wake.promise;
    clearTimeout(timer);
    this.#wake = Promise.withResolvers();
    this.#watch.ensure();
  }

  readonly #rouse = (): void => this.#wake.resolve();

  async #live(): Promise<ReadonlyMap<string, LiveRow>> {
    if (performance.now() - this.#askedAt < freshMs) return this.#answer;
    this.#askedAt = performance.now();
    this.#answer = new Map((await listLive(this.#root)).map((row) => [row.threadId, row]));
    return this.#answer;
  }

  async #lookAtLive(row: LiveRow): Promise<void> {
    const seen = this.#seen.get(row.threadId);
    if (seen?.steps === row.steps && seen.status === row.status) seen.live = true;
    else await this.#show(row, true);
  }

  async #show(ref: ThreadRef, live: boolean): Promise<void> {
    const row = await readRow(this.#root, ref).catch(() => null);
    if (!row) return;
    const { threadId, hash, steps, status } = row;
    const seen = this.#seen.get(threadId);
    const driven = live || status === "running" || status === "paused";
    this.#seen.set(threadId, { ref: { threadId, hash }, steps, status, live: driven });
    if (seen?.steps !== steps || seen.status !== status) this.#news.push({ kind: "thread", row });
  }

  async #list(): Promise<void> {
    this.#listedAt = performance.now();
    const there = new Set<string>();
    for (const ref of allThreads(this.#root)) {
      there.add(ref.threadId);
      if (!this.#seen.has(ref.threadId)) await this.#show(ref, false);
    }
    for (const threadId of this.#seen.keys()) {
      if (there.has(threadId)) continue;
      this.#seen.delete(threadId);
      this.#news.push({ kind: "removed", threadId });
    }
    const names = await this.#readNames();
    if (names !== this.#names) this.#news.push({ kind: "workflows" });
    this.#names = names;
  }

  async #readNames(): Promise<string> {
    const registry = await readRegistry(this.#root).catch(() => new Map<string, never>());
    return JSON.stringify([...registry]);
  }
}

const ofLog = /^(.+)\.data\.jsonl$/;
const ofBoth = /^(.+)\.(?:data|info)\.jsonl$/;

/**
 * Calls back when the log of any thread of a storage root has changed, with `events` its debug log too,
 * as far as the system reports it: look through the list of threads now and then all the same.
 */
export class StoreWatch {
  readonly #root: Root;
  readonly #onThread: (ref: ThreadRef) => void;
  readonly #file: RegExp;
  readonly #folders = new Map<string, FSWatcher>();

  constructor(root: Root, onThread: (ref: ThreadRef) => void, { events = false } = {}) {
    this.#root = root;
    this.#file = events ? ofBoth : ofLog;
    this.#onThread = onThread;
    this.ensure();
  }

  /** Watches the folders that have come since. */
  ensure(): void {
    this.#add("", logsDir(this.#root), (name) => {
      if (isHash(name)) this.ensure();
    });
    for (const hash of this.#hashes()) {
      this.#add(hash, threadsDir(this.#root, hash), (name) => {
        const [, threadId = ""] = this.#file.exec(name) ?? [];
        if (isThreadId(threadId)) this.#onThread({ hash, threadId });
      });
    }
  }

  close(): void {
    for (const watcher of this.#folders.values()) watcher.close();
    this.#folders.clear();
  }

  #hashes(): string[] {
    try {
      return loggedHashes(this.#root);
    } catch {
      // What can't be read now may be read when it is called next.
      return [];
    }
  }

  #add(key: string, folder: string, onName: (name: string) => void): void {
    if (this.#folders.has(key)) return;
    const forget = () => this.#folders.delete(key);
    try {
      const watcher = watch(folder, { persistent: false }, (_event, name) => {
        if (name !== null) onName(name);
      });
      this.#folders.set(key, watcher.on("error", forget));
    } catch {
      // It is not there yet, is gone, or can't be watched: the next call tries again.
    }
  }
}
