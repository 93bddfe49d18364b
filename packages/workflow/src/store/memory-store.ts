import type { ThreadRef } from "../record/thread.ts";
import { encode } from "../record/sum.ts";
import { Memory, refOf, type StoredThread } from "./memory.ts";
import { memoryIndex } from "./memory-index.ts";
import type {
  Claim,
  ClaimOptions,
  ListQuery,
  LogName,
  LogPage,
  NewThread,
  RegistryState,
  RunnableOptions,
  StoreChange,
  StoredBundle,
  ThreadIndex,
  ThreadInfo,
  ThreadStore,
} from "./store.ts";
import { notFound } from "../record/errors.ts";
import { ChangeQueue } from "./change-queue.ts";
import { badCursor, storeClosed } from "./errors.ts";

const pageBytes = 1024 * 1024;

/** A {@link ThreadStore} in memory. Stores over the same `memory` see the same threads. */
export function memoryStore(memory: Memory = new Memory()): ThreadStore {
  return new MemoryStore(memory);
}

class MemoryStore implements ThreadStore {
  readonly maxRecordBytes: number;
  readonly index: ThreadIndex;
  readonly #memory: Memory;
  readonly #closed = new AbortController();

  constructor(memory: Memory) {
    this.#memory = memory;
    this.maxRecordBytes = memory.maxRecordBytes;
    this.index = memoryIndex(() => this.#open());
  }

  async putBundle(bundle: StoredBundle): Promise<void> {
    const { bundles } = this.#open();
    const { types, map } = bundles.get(bundle.hash) ?? bundle;
    bundles.set(
      bundle.hash,
      copyOf({ ...bundle, types: bundle.types ?? types, map: bundle.map ?? map }),
    );
  }

  async readBundle(hash: string): Promise<StoredBundle | null> {
    const bundle = this.#open().bundles.get(hash);
    return bundle ? copyOf(bundle) : null;
  }

  async listBundles(): Promise<string[]> {
    return [...this.#open().bundles.keys()].toSorted();
  }

  async removeBundle(hash: string): Promise<void> {
    this.#open().bundles.delete(hash);
  }

  async readRegistry(): Promise<RegistryState> {
    const { registry, registryVersion } = this.#open();
    return { text: registry, version: String(registryVersion) };
  }

  async replaceRegistry(text: string, expected: string): Promise<boolean> {
    const memory = this.#open();
    if (String(memory.registryVersion) !== expected) return false;
    memory.registry = text;
    memory.registryVersion += 1;
    memory.notify({ kind: "registry" });
    return true;
  }

  async create(
    given: NewThread,
    claim?: ClaimOptions,
  ): Promise<{ created: boolean; thread: ThreadInfo; claim: Claim | null }> {
    const memory = this.#open();
    const { threadId, blobsFrom } = given;
    const existing = memory.threads.get(threadId);
    if (existing) return { created: false, thread: this.#memory.infoOf(existing), claim: null };
    const thread = memory.add(given);
    const source = blobsFrom && this.#find(blobsFrom.ref);
    for (const id of blobsFrom?.ids ?? []) {
      const blob = source?.blobs.get(id);
      if (blob) thread.blobs.set(id, blob);
    }
    const held = claim ? memory.claim(thread, this, claim) : null;
    return { created: true, thread: this.#memory.infoOf(thread), claim: held };
  }

  async find(threadId: string): Promise<ThreadInfo | null> {
    const thread = this.#open().threads.get(threadId);
    return thread ? this.#memory.infoOf(thread) : null;
  }

  async list({ before, limit = 20, hash }: ListQuery = {}): Promise<ThreadInfo[]> {
    return [...this.#open().threads.values()]
      .filter((thread) => before === undefined || thread.threadId < before)
      .filter((thread) => hash === undefined || thread.hash === hash)
      .toSorted((a, b) => (a.threadId < b.threadId ? 1 : -1))
      .slice(0, limit)
      .map((thread) => this.#memory.infoOf(thread));
  }

  async remove(ref: ThreadRef): Promise<boolean> {
    const memory = this.#open();
    const thread = this.#find(ref);
    if (!thread) return false;
    memory.threads.delete(ref.threadId);
    thread.holder?.lost.abort();
    thread.holder = null;
    memory.notify({ kind: "removed", ref: refOf(thread) });
    return true;
  }

  async setPaused(ref: ThreadRef, paused: boolean): Promise<ThreadInfo | null> {
    const thread = this.#find(ref);
    if (!thread) return null;
    if (thread.state.kind !== "ended" && thread.paused !== paused) {
      thread.paused = paused;
      this.#memory.changed(thread);
    }
    return this.#memory.infoOf(thread);
  }

  async read(ref: ThreadRef, log: LogName, cursor = `${log}.0`): Promise<LogPage> {
    const all = this.#get(ref).logs[log];
    const [name, digits = ""] = cursor.split(".");
    const start = /^\d+$/.test(digits) ? Number(digits) : Number.NaN;
    if (name !== log || !(start <= all.length)) throw badCursor(ref.threadId, cursor, log);
    let end = start;
    for (let bytes = 0; end < all.length; end += 1) {
      bytes += encode(all[end]).length + 1;
      if (bytes > pageBytes && end > start) break;
    }
    return { lines: all.slice(start, end), cursor: `${log}.${end}`, isEnd: end === all.length };
  }

  where({ hash, threadId }: ThreadRef, log: LogName): string {
    return `memory:${hash}/${threadId}.${log}`;
  }

  async readValue(ref: ThreadRef, at: number): Promise<string | null> {
    return this.#find(ref)?.values[at] ?? null;
  }

  async readBlob(ref: ThreadRef, id: string): Promise<Uint8Array | null> {
    return this.#find(ref)?.blobs.get(id)?.slice() ?? null;
  }

  async listBlobs(ref: ThreadRef): Promise<string[]> {
    return [...(this.#find(ref)?.blobs.keys() ?? [])].toSorted();
  }

  async claim(ref: ThreadRef, options: ClaimOptions): Promise<Claim | null> {
    const thread = this.#get(ref);
    return this.#memory.isHeld(thread) && !options.takeOver
      ? null
      : this.#memory.claim(thread, this, options);
  }

  async runnable(options: RunnableOptions): Promise<ThreadInfo[]> {
    const { now, limit, hashes, onlyDue = false } = options;
    const dueAt = ({ state, updatedAt }: StoredThread): number => {
      if (state.kind === "running") return onlyDue ? Infinity : updatedAt;
      const due = state.kind === "waiting" ? (state.dueAt ?? Infinity) : Infinity;
      return due <= now ? due : Infinity;
    };
    return [...this.#open().threads.values()]
      .filter((thread) => hashes === undefined || hashes.includes(thread.hash))
      .filter(
        (thread) => !thread.paused && !this.#memory.isHeld(thread) && thread.postponedUntil <= now,
      )
      .filter((thread) => dueAt(thread) < Infinity)
      .toSorted((a, b) => dueAt(a) - dueAt(b))
      .slice(0, limit)
      .map((thread) => this.#memory.infoOf(thread));
  }

  async postpone(ref: ThreadRef, until: number): Promise<void> {
    const thread = this.#find(ref);
    if (thread) thread.postponedUntil = until;
  }

  async *watch(signal: AbortSignal, ref?: ThreadRef): AsyncGenerator<StoreChange> {
    const { listeners } = this.#open();
    const ended = AbortSignal.any([signal, this.#closed.signal]);
    const queue = new ChangeQueue();
    const listener = (change: StoreChange): void => {
      const threadId = "ref" in change ? change.ref.threadId : null;
      if (!ref || ref.threadId === threadId) queue.add(change);
    };
    listeners.add(listener);
    try {
      if (!ended.aborted) yield { kind: "ready" };
      yield* queue.until(ended);
    } finally {
      listeners.delete(listener);
    }
  }

  async close(): Promise<void> {
    if (this.#closed.signal.aborted) return;
    this.#closed.abort();
    for (const thread of this.#memory.threads.values()) {
      if (thread.holder?.by !== this) continue;
      thread.holder.lost.abort();
      thread.holder = null;
      this.#memory.changed(thread);
    }
  }

  #open(): Memory {
    if (!this.#closed.signal.aborted) return this.#memory;
    throw storeClosed();
  }

  #find({ hash, threadId }: ThreadRef): StoredThread | null {
    const thread = this.#open().threads.get(threadId);
    return thread?.hash === hash ? thread : null;
  }

  #get(ref: ThreadRef): StoredThread {
    const thread = this.#find(ref);
    if (thread) return thread;
    throw notFound(ref.threadId);
  }
}
function copyOf({ hash, code, descriptor, types, map }: StoredBundle): StoredBundle {
  const copy: StoredBundle = { hash, code: code.slice(), descriptor };
  if (types !== undefined) copy.types = types;
  if (map !== undefined) copy.map = map;
  return copy;
}
