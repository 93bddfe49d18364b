import { WorkflowError } from "../contract/error.ts";
import { maxRecordBytes } from "../log/record.ts";
import { encode, firstSum, type Sum, sealed } from "../log/sum.ts";
import {
  type Appended,
  type Claim,
  type ClaimOptions,
  FencedError,
  type ListQuery,
  type LogName,
  type LogPage,
  type NewThread,
  type RegistryState,
  type RunnableOptions,
  type StoreChange,
  type StoredBundle,
  type ThreadInfo,
  type ThreadRef,
  type ThreadState,
  type ThreadStore,
} from "./store.ts";

const pageBytes = 1024 * 1024;

/** The medium that several memory stores share, as processes share a disk. */
export class Memory {
  readonly now: () => number;
  readonly bundles = new Map<string, StoredBundle>();
  readonly threads = new Map<string, StoredThread>();
  readonly listeners = new Set<(change: StoreChange) => void>();
  registry = "";
  registryVersion = 0;
  fence = 0;

  /** `now` is the clock of leases and of `updatedAt`. */
  constructor({ now = Date.now }: { now?: () => number } = {}) {
    this.now = now;
  }

  notify(change: StoreChange): void {
    for (const listener of this.listeners) listener(change);
  }
}

/** A {@link ThreadStore} in memory. Stores over the same `memory` see the same threads. */
export function memoryStore(memory: Memory = new Memory()): ThreadStore {
  return new MemoryStore(memory);
}

type Holder = {
  readonly fence: number;
  readonly owner: string;
  readonly lost: AbortController;
  /** The store that it was claimed through. */
  readonly by: MemoryStore;
  expiresAt: number;
};

type StoredThread = Omit<ThreadInfo, "records" | "owner"> & {
  readonly logs: Record<LogName, string[]>;
  readonly sums: Record<"data" | "journal", Sum>;
  readonly values: string[];
  readonly blobs: Map<string, Uint8Array>;
  lastSeq: number;
  postponedUntil: number;
  holder: Holder | null;
};

class MemoryStore implements ThreadStore {
  readonly maxRecordBytes = maxRecordBytes;
  readonly #memory: Memory;
  readonly #closed = new AbortController();

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  async putBundle(bundle: StoredBundle): Promise<void> {
    const { bundles } = this.#open();
    const { types = bundle.types, map = bundle.map, ...kept } = bundles.get(bundle.hash) ?? bundle;
    bundles.set(bundle.hash, copyOf({ ...kept, types, map }));
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

  async create(given: NewThread): Promise<{ created: boolean; thread: ThreadInfo }> {
    const memory = this.#open();
    const { hash, threadId, name, createdAt, records, journal = [], blobsFrom } = given;
    const existing = memory.threads.get(threadId);
    if (existing) return { created: false, thread: this.#infoOf(existing) };
    for (const record of [...records, ...journal]) checkLength(threadId, record);
    const thread: StoredThread = {
      ...{ hash, threadId, name, createdAt, updatedAt: memory.now(), paused: false },
      state: { ...given.state },
      logs: { data: [], journal: [], events: [] },
      sums: { data: firstSum, journal: firstSum },
      values: [],
      blobs: new Map(),
      lastSeq: 0,
      postponedUntil: 0,
      holder: null,
    };
    const source = blobsFrom && this.#find(blobsFrom.ref);
    for (const id of blobsFrom?.ids ?? []) {
      const blob = source?.blobs.get(id);
      if (blob) thread.blobs.set(id, blob);
    }
    for (const record of records) addRecord(thread, "data", record);
    for (const record of journal) addRecord(thread, "journal", record);
    memory.threads.set(threadId, thread);
    this.#changed(thread);
    return { created: true, thread: this.#infoOf(thread) };
  }

  async find(threadId: string): Promise<ThreadInfo | null> {
    const thread = this.#open().threads.get(threadId);
    return thread ? this.#infoOf(thread) : null;
  }

  async list({ before, limit = 20, hash }: ListQuery = {}): Promise<ThreadInfo[]> {
    return [...this.#open().threads.values()]
      .filter((thread) => before === undefined || thread.threadId < before)
      .filter((thread) => hash === undefined || thread.hash === hash)
      .toSorted((a, b) => (a.threadId < b.threadId ? 1 : -1))
      .slice(0, limit)
      .map((thread) => this.#infoOf(thread));
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
      this.#changed(thread);
    }
    return this.#infoOf(thread);
  }

  async read(ref: ThreadRef, log: LogName, cursor = `${log}.0`): Promise<LogPage> {
    const all = this.#get(ref).logs[log];
    const [name, digits = ""] = cursor.split(".");
    const start = /^\d+$/.test(digits) ? Number(digits) : Number.NaN;
    if (name !== log || !(start <= all.length)) {
      const message = `${ref.threadId}: invalid cursor ${JSON.stringify(cursor)} of the ${log} log`;
      throw WorkflowError.usage("BAD_POSITION", message);
    }
    let end = start;
    for (let bytes = 0; end < all.length; end += 1) {
      bytes += encode(all[end] as string).length + 1;
      if (bytes > pageBytes && end > start) break;
    }
    return { lines: all.slice(start, end), cursor: `${log}.${end}`, isEnd: end === all.length };
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

  async claim(
    ref: ThreadRef,
    { owner, leaseMs, takeOver = false }: ClaimOptions,
  ): Promise<Claim | null> {
    const memory = this.#open();
    const thread = this.#get(ref);
    if (this.#isHeld(thread) && !takeOver) return null;
    thread.holder?.lost.abort();
    memory.fence += 1;
    const expiresAt = memory.now() + leaseMs;
    const lost = new AbortController();
    const holder: Holder = { fence: memory.fence, owner, lost, by: this, expiresAt };
    thread.holder = holder;
    this.#changed(thread);
    let isReleased = false;

    const isOver = (): boolean => {
      if (isReleased || (thread.holder === holder && this.#isHeld(thread))) return isReleased;
      lost.abort();
      return true;
    };
    const write = (): void => {
      if (isOver()) throw new FencedError(thread.threadId);
    };
    const record = (log: "data" | "journal", json: string): void => {
      write();
      if (thread.state.kind === "ended") {
        throw WorkflowError.failed("THREAD_ENDED", `${thread.threadId}: the thread has ended`);
      }
      checkLength(thread.threadId, json);
      addRecord(thread, log, json);
    };
    return {
      ref: refOf(thread),
      fence: holder.fence,
      thread: this.#infoOf(thread),
      cut: null,
      lastSeq: thread.lastSeq,
      lost: lost.signal,
      renew: async () => {
        if (isOver()) return false;
        holder.expiresAt = memory.now() + leaseMs;
        return true;
      },
      append: async (json: string, state: ThreadState): Promise<Appended> => {
        record("data", json);
        thread.updatedAt = memory.now();
        thread.state = { ...state };
        thread.postponedUntil = 0;
        this.#changed(thread);
        return { paused: thread.paused };
      },
      journal: async (json: string) => {
        record("journal", json);
        this.#changed(thread);
      },
      event: (lines) => {
        if (isOver() || lines.length === 0) return;
        for (const line of lines) {
          thread.logs.events.push(line);
          thread.lastSeq = Math.max(thread.lastSeq, seqOf(line));
        }
        this.#changed(thread);
      },
      keepValue: (json) => (isOver() ? null : thread.values.push(json) - 1),
      putBlob: async (id, bytes) => {
        write();
        if (!thread.blobs.has(id)) thread.blobs.set(id, bytes.slice());
        return true;
      },
      release: async () => {
        if (isOver()) return;
        isReleased = true;
        thread.holder = null;
        this.#changed(thread);
      },
    };
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
      .filter((thread) => !thread.paused && !this.#isHeld(thread) && thread.postponedUntil <= now)
      .filter((thread) => dueAt(thread) < Infinity)
      .toSorted((a, b) => dueAt(a) - dueAt(b))
      .slice(0, limit)
      .map((thread) => this.#infoOf(thread));
  }

  async postpone(ref: ThreadRef, until: number): Promise<void> {
    const thread = this.#find(ref);
    if (thread) thread.postponedUntil = until;
  }

  async *watch(signal: AbortSignal, ref?: ThreadRef): AsyncGenerator<StoreChange> {
    const { listeners } = this.#open();
    const ended = AbortSignal.any([signal, this.#closed.signal]);
    const changes = new Map<string, StoreChange>();
    let wake = (): void => undefined;
    const listener = (change: StoreChange): void => {
      const threadId = "ref" in change ? change.ref.threadId : null;
      if (ref && ref.threadId !== threadId) return;
      // The last place: a thread that is removed and created again is there.
      changes.delete(threadId ?? "");
      changes.set(threadId ?? "", change);
      wake();
    };
    const stop = (): void => wake();
    ended.addEventListener("abort", stop);
    listeners.add(listener);
    try {
      if (!ended.aborted) yield { kind: "ready" };
      while (!ended.aborted) {
        for (const [key, change] of changes) {
          changes.delete(key);
          yield change;
          if (ended.aborted) return;
        }
        await new Promise<void>((resolve) => {
          wake = resolve;
          if (changes.size > 0 || ended.aborted) resolve();
        });
      }
    } finally {
      listeners.delete(listener);
      ended.removeEventListener("abort", stop);
    }
  }

  async close(): Promise<void> {
    if (this.#closed.signal.aborted) return;
    this.#closed.abort();
    for (const thread of this.#memory.threads.values()) {
      if (thread.holder?.by !== this) continue;
      thread.holder.lost.abort();
      thread.holder = null;
      this.#changed(thread);
    }
  }

  #open(): Memory {
    if (!this.#closed.signal.aborted) return this.#memory;
    throw WorkflowError.failed("STORE_CLOSED", "the store is closed");
  }

  #find({ hash, threadId }: ThreadRef): StoredThread | null {
    const thread = this.#open().threads.get(threadId);
    return thread?.hash === hash ? thread : null;
  }

  #get(ref: ThreadRef): StoredThread {
    const thread = this.#find(ref);
    if (thread) return thread;
    throw WorkflowError.missing("THREAD_NOT_FOUND", `no thread ${ref.threadId}`);
  }

  #isHeld({ holder }: StoredThread): boolean {
    return holder !== null && this.#memory.now() < holder.expiresAt;
  }

  #infoOf(thread: StoredThread): ThreadInfo {
    const { hash, threadId, name, createdAt, updatedAt, logs, state, paused, holder } = thread;
    const owner = this.#isHeld(thread) ? (holder?.owner ?? null) : null;
    const records = logs.data.length;
    return {
      ...{ hash, threadId, name, createdAt, updatedAt, records },
      ...{ state: { ...state }, paused, owner },
    };
  }

  #changed(thread: StoredThread): void {
    this.#memory.notify({ kind: "thread", ref: refOf(thread) });
  }
}

const refOf = ({ hash, threadId }: ThreadRef): ThreadRef => ({ hash, threadId });

function copyOf({ hash, code, descriptor, types, map }: StoredBundle): StoredBundle {
  const copy: StoredBundle = { hash, code: code.slice(), descriptor };
  if (types !== undefined) copy.types = types;
  if (map !== undefined) copy.map = map;
  return copy;
}

function addRecord(thread: StoredThread, log: "data" | "journal", json: string): void {
  const { text, sum } = sealed(json, thread.sums[log]);
  thread.logs[log].push(text);
  thread.sums[log] = sum;
}

/** The `seq` of an event's line; 0 when it has none. */
function seqOf(line: string): number {
  try {
    const { seq } = JSON.parse(line) as { seq?: unknown };
    return typeof seq === "number" ? seq : 0;
  } catch {
    return 0;
  }
}

function checkLength(threadId: string, record: string): void {
  const { length } = encode(record);
  if (length <= maxRecordBytes) return;
  const message = `${threadId}: a record of ${length} bytes exceeds the limit of ${maxRecordBytes} bytes`;
  throw WorkflowError.failed("RECORD_TOO_LARGE", message);
}
