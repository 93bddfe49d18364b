import { blobIdOf } from "../record/blob-names.ts";
import type { Step } from "../contract/contract.ts";
import {
  type EndRecord,
  isEnd,
  type JournalHead,
  maxRecordBytes as mostRecordBytes,
  type StartRecord,
  takeHead,
} from "../record/record.ts";
import { encode, firstSum, sealed } from "../record/sum.ts";
import type { ThreadRef } from "../record/thread.ts";
import { system } from "../system/system.ts";
import {
  type Appended,
  type Claim,
  type ClaimOptions,
  FencedError,
  type IndexEntry,
  type LogName,
  type NewThread,
  type StoreChange,
  type StoredBundle,
  type ThreadInfo,
  type ThreadState,
  type ThreadStore,
} from "./store.ts";
import { endedError } from "../record/errors.ts";
import { recordTooLong } from "./errors.ts";

/** `now` is the clock in milliseconds, `maxRecordBytes` the maximum size of a record in bytes. */
export type MemoryOptions = { now?: () => number; maxRecordBytes?: number };

/** The medium shared by several memory stores, like a disk shared by processes. */
export class Memory {
  readonly now: () => number;
  readonly maxRecordBytes: number;
  readonly bundles = new Map<string, StoredBundle>();
  readonly threads = new Map<string, StoredThread>();
  readonly listeners = new Set<(change: StoreChange) => void>();
  registry = "";
  registryVersion = 0;
  fence = 0;

  /** `now` is the clock of leases and of `updatedAt`. */
  constructor({
    now = () => system.clock.now(),
    maxRecordBytes = mostRecordBytes,
  }: MemoryOptions = {}) {
    this.now = now;
    this.maxRecordBytes = maxRecordBytes;
  }

  notify(change: StoreChange): void {
    for (const listener of this.listeners) listener(change);
  }

  changed(thread: StoredThread): void {
    this.notify({ kind: "thread", ref: refOf(thread) });
  }

  isHeld({ holder }: StoredThread): boolean {
    return holder !== null && this.now() < holder.expiresAt;
  }

  infoOf(thread: StoredThread): ThreadInfo {
    const { hash, threadId, name, createdAt, updatedAt, logs, state, paused, holder } = thread;
    const owner = this.isHeld(thread) ? (holder?.owner ?? null) : null;
    const records = logs.data.length;
    const { postponedUntil } = thread;
    return {
      ...{ hash, threadId, name, createdAt, updatedAt, records },
      ...{ state: { ...state }, paused, owner, movedTo: null },
      ...(postponedUntil > this.now() && { postponedUntil }),
    };
  }

  add(given: NewThread): StoredThread {
    const { hash, threadId, name, createdAt, state, records, journal = [] } = given;
    for (const record of [...records, ...journal])
      checkLength(record, threadId, this.maxRecordBytes);
    const thread: StoredThread = {
      ...{ hash, threadId, name, createdAt, updatedAt: this.now(), paused: false },
      state: { ...state },
      logs: { data: [], journal: [], events: [] },
      sums: { data: firstSum, journal: firstSum },
      values: [],
      blobs: new Map(),
      lastSeq: 0,
      postponedUntil: 0,
      holder: null,
      entry: null,
    };
    for (const record of records) addRecord(thread, "data", record);
    for (const record of journal) addRecord(thread, "journal", record);
    this.threads.set(threadId, thread);
    this.changed(thread);
    return thread;
  }

  /** Claims a thread, even if another claim holds it. */
  claim(thread: StoredThread, by: ThreadStore, { owner, leaseMs }: ClaimOptions): Claim {
    thread.holder?.lost.abort();
    this.fence += 1;
    const expiresAt = this.now() + leaseMs;
    const lost = new AbortController();
    const holder: Holder = { fence: this.fence, owner, lost, by, expiresAt };
    thread.holder = holder;
    this.changed(thread);
    let isReleased = false;

    const isOver = (): boolean => {
      if (isReleased || (thread.holder === holder && this.isHeld(thread))) return isReleased;
      lost.abort();
      return true;
    };
    const write = (): void => {
      if (isOver()) throw new FencedError(thread.threadId);
    };
    const record = (log: "data" | "journal", json: string): void => {
      write();
      if (thread.state.kind === "ended") throw endedError(thread.threadId, "ended");
      checkLength(json, thread.threadId, this.maxRecordBytes);
      addRecord(thread, log, json);
    };
    return {
      ref: refOf(thread),
      fence: holder.fence,
      thread: this.infoOf(thread),
      ...recordsOf(thread),
      cut: null,
      lastSeq: thread.lastSeq,
      lost: lost.signal,
      renew: async () => {
        if (isOver()) return false;
        holder.expiresAt = this.now() + leaseMs;
        return true;
      },
      append: async (json: string, state: ThreadState): Promise<Appended> => {
        record("data", json);
        thread.updatedAt = this.now();
        thread.state = { ...state };
        thread.postponedUntil = 0;
        this.changed(thread);
        // Wait for a turn of the event loop as other media do: a workflow that never waits must not block the process.
        await system.clock.turn();
        return { paused: thread.paused };
      },
      journal: async (json: string) => {
        record("journal", json);
        this.changed(thread);
      },
      event: (lines) => {
        if (isOver() || lines.length === 0) return;
        for (const line of lines) {
          thread.logs.events.push(line);
          thread.lastSeq = Math.max(thread.lastSeq, seqOf(line));
        }
        this.changed(thread);
      },
      keepValue: (json) => (isOver() ? null : thread.values.push(json) - 1),
      putBlob: async (bytes) => {
        write();
        const id = blobIdOf(bytes);
        if (!thread.blobs.has(id)) thread.blobs.set(id, bytes.slice());
        return id;
      },
      release: async () => {
        if (isOver()) return;
        isReleased = true;
        thread.holder = null;
        this.changed(thread);
      },
    };
  }
}

type Holder = {
  readonly fence: number;
  readonly owner: string;
  readonly lost: AbortController;
  /** The store of the claim. */
  readonly by: ThreadStore;
  expiresAt: number;
};

/** A stored thread. */
export type StoredThread = Omit<ThreadInfo, "records" | "owner" | "movedTo" | "postponedUntil"> & {
  readonly logs: Record<LogName, string[]>;
  readonly sums: Record<"data" | "journal", bigint>;
  readonly values: string[];
  readonly blobs: Map<string, Uint8Array>;
  lastSeq: number;
  postponedUntil: number;
  holder: Holder | null;
  entry: IndexEntry | null;
};

export const refOf = ({ hash, threadId }: ThreadRef): ThreadRef => ({ hash, threadId });

function addRecord(thread: StoredThread, log: "data" | "journal", json: string): void {
  const { text, sum } = sealed(json, thread.sums[log]);
  thread.logs[log].push(text);
  thread.sums[log] = sum;
}

function recordsOf({ logs }: StoredThread): Pick<Claim, "start" | "steps" | "end" | "journalHead"> {
  const heads: (JournalHead | null)[] = [];
  const [start, ...records] = logs.data.map((line) => {
    const { sum: _, ...record } = JSON.parse(line) as { sum: string };
    heads.push(takeHead(record));
    return record;
  }) as [StartRecord, ...(Step | EndRecord)[]];
  const steps = records.filter((record): record is Step => !isEnd(record));
  // Copied steps name the journal of their source.
  heads.splice(1, start.forkFrom?.steps ?? 0);
  const journalHead = heads.findLast((head) => head !== null) ?? null;
  return { start, steps, end: records.find(isEnd) ?? null, journalHead };
}

/** Returns the `seq` of an event's line; 0 when it has none. */
function seqOf(line: string): number {
  try {
    const { seq } = JSON.parse(line) as { seq?: unknown };
    return typeof seq === "number" ? seq : 0;
  } catch {
    return 0;
  }
}

function checkLength(record: string, threadId: string, most: number): void {
  const { length } = encode(record);
  if (length <= most) return;
  throw recordTooLong(threadId, length, most);
}
