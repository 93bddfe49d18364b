import { join } from "node:path";
import type { Step } from "../contract/contract.ts";
import { isWorkflowError } from "../contract/error.ts";
import { checkThreadId, isHash, isThreadId } from "../contract/names.ts";
import type { Durability } from "../control/control.ts";
import { maxRecordBytes, type StartRecord, takeHead } from "../record/record.ts";
import { isBlobId } from "../record/blob-names.ts";
import type { ThreadRef } from "../record/thread.ts";
import type {
  Claim,
  ClaimOptions,
  Cut,
  ListQuery,
  LogName,
  LogPage,
  NewThread,
  RegistryState,
  RunnableOptions,
  StoreChange,
  StoredBundle,
  ThreadInfo,
  ThreadStore,
} from "../store/store.ts";
import { system } from "../system/system.ts";
import { BundleLocks } from "./bundle-locks.ts";
import { blobIds, readBlob } from "./blobs.ts";
import { readBundleFiles, removeBundleFiles, writeBundleFiles } from "./bundle-files.ts";
import { DiskClaim } from "./claim.ts";
import { createFiles } from "./create-files.ts";
import { postponeDue } from "./due.ts";
import { makeFolder, syncFolder, writeFileAtomic } from "./files.ts";
import { lostJournal } from "./journal.ts";
import { JournalFile } from "./journal-file.ts";
import { waitForLock } from "./lock.ts";
import { logPath, readPage } from "./log-page.ts";
import type { ThreadLog } from "./log.ts";
import { LogTrust, refusals } from "./log-trust.ts";
import {
  blobsDir,
  dataPath,
  loggedHashes,
  backupPath,
  registryLockPath,
  registryPath,
  type Root,
  storedHashes,
  threadIdsOf,
  threadsDir,
  valuesPath,
} from "./paths.ts";
import { isPaused, notePaused } from "./paused.ts";
import { createRoot } from "./root.ts";
import { runnableThreads } from "./runnable.ts";
import { checkHere, isCreated, removeThreadFiles, threadWithId, withThreadId } from "./threads.ts";
import { notePostponed } from "./postponed.ts";
import { infoOf, readInfo, readThread } from "./thread-info.ts";
import { valueAt } from "./values.ts";
import { readRegistryState, watchStore } from "./watch-store.ts";
import { checkRecordSize, LogWriter, truncateTail } from "./writer.ts";
import { durableWriting, type Writing } from "./writing.ts";
import { threadClaimed } from "./errors.ts";
import { journalCorrupt, notFound } from "../record/errors.ts";
import { storeClosed } from "../store/errors.ts";

/** Options of the store of a storage root. */
export type DiskStoreOptions = {
  /** The bundle whose lock this process holds: claims on its threads do not need another lock. */
  lockedHash?: string;
  /** Whether the previous worker crashed, so that the page cache may have bytes that are not on the disk. */
  distrustsCache?: boolean;
};

const createTimeoutMs = 5_000;

/**
 * The thread store of a storage root. A claim lasts until its process ends: the lock of the thread's bundle, which the
 * system releases when the process ends, excludes other processes. So claims do not need leases, and another process
 * can't fence a live holder.
 */
export class DiskStore implements ThreadStore {
  readonly maxRecordBytes = maxRecordBytes;
  readonly #root: Root;
  readonly #writing = durableWriting();
  readonly #claims = new Map<string, { claim: DiskClaim; owner: string }>();
  readonly #locks: BundleLocks;
  readonly #trust: LogTrust;
  readonly #closed = new AbortController();

  constructor(root: Root, options: DiskStoreOptions = {}) {
    this.#root = root;
    this.#locks = new BundleLocks(root, options.lockedHash);
    this.#trust = new LogTrust(options.distrustsCache);
  }

  /** Whether a log is still unsynced after a failed sync, so that the next process must not trust the page cache. */
  get hasUnsynced(): boolean {
    return this.#trust.hasUnsynced;
  }

  async putBundle(bundle: StoredBundle): Promise<void> {
    this.#check();
    createRoot(this.#root);
    writeBundleFiles(this.#root, bundle);
  }

  async readBundle(hash: string): Promise<StoredBundle | null> {
    return isHash(hash) ? readBundleFiles(this.#root, hash) : null;
  }

  async listBundles(): Promise<string[]> {
    return storedHashes(this.#root);
  }

  async removeBundle(hash: string): Promise<void> {
    if (isHash(hash)) removeBundleFiles(this.#root, hash);
  }

  async readRegistry(): Promise<RegistryState> {
    this.#check();
    return readRegistryState(this.#root);
  }

  async replaceRegistry(text: string, expected: string): Promise<boolean> {
    createRoot(this.#root);
    const lock = await waitForLock(registryLockPath(this.#root), () => undefined);
    try {
      const before = await this.readRegistry();
      if (before.version !== expected) return false;
      if (before.text !== "") writeFileAtomic(backupPath(this.#root), before.text);
      writeFileAtomic(registryPath(this.#root), text);
      return true;
    } finally {
      lock.release();
    }
  }

  async create(thread: NewThread, options?: ClaimOptions) {
    this.#check();
    const { hash } = thread;
    const threadId = checkThreadId(thread.threadId);
    if (!isHash(hash)) throw notFound(threadId);
    for (const record of [...thread.records, ...(thread.journal ?? [])]) {
      checkRecordSize(Buffer.byteLength(record));
    }
    createRoot(this.#root);
    const create = () => {
      this.#check();
      const there = threadWithId(this.#root, threadId);
      if (there) return this.#createdBefore(there);
      return this.#create(thread, options);
    };
    return await withThreadId(this.#root, threadId, create, createTimeoutMs);
  }

  #createdBefore(ref: ThreadRef) {
    checkHere(this.#root, ref);
    syncFolder(threadsDir(this.#root, ref.hash));
    const thread = this.#info(ref);
    if (!thread) throw notFound(ref.threadId);
    return { created: false, thread, claim: null };
  }

  #create(thread: NewThread, options: ClaimOptions | undefined) {
    const { hash, threadId, name, createdAt, state, records } = thread;
    const ref = { hash, threadId };
    const writing = this.#writingFor(options?.durability);
    if (options && !this.#locks.take(hash)) throw threadClaimed(threadId);
    let writer: LogWriter;
    try {
      this.#makeFolder(threadsDir(this.#root, hash));
      writer = createFiles(this.#root, thread, writing);
    } catch (error) {
      if (options) this.#locks.release(hash);
      if (isCreated(this.#root, hash, threadId)) this.#trust.doubt(threadId);
      throw error;
    }
    const [start, ...steps] = records.map((record) => JSON.parse(record) as Step);
    const updatedAt = steps.at(-1)?.timestamp ?? createdAt;
    const info: ThreadInfo = {
      ...{ ...ref, name, createdAt, updatedAt, records: records.length, state },
      ...{ paused: false, owner: options?.owner ?? null, movedTo: null },
    };
    if (!options) {
      void writer.close();
      return { created: true, thread: info, claim: null };
    }
    // The copied steps of a fork may contain the head of the source's journal.
    const [journalHead = null] = [start, ...steps].map(takeHead);
    const log = { start: start as unknown as StartRecord, steps, end: null, journal: journalHead };
    const journal = new JournalFile(this.#root, ref, { writing, isSuspect: false });
    const { owner } = options;
    const claim = this.#claimOf(info, { log, writer, journal, writing, cut: null, owner });
    return { created: true, thread: info, claim };
  }

  async find(threadId: string): Promise<ThreadInfo | null> {
    this.#check();
    const ref = isThreadId(threadId) ? threadWithId(this.#root, threadId) : null;
    // The process that created the thread may have ended before the log's name was durable.
    if (ref) syncFolder(threadsDir(this.#root, ref.hash));
    return ref && this.#info(ref);
  }

  async list({ before, limit = 20, hash }: ListQuery = {}): Promise<ThreadInfo[]> {
    this.#check();
    const hashes = hash === undefined ? loggedHashes(this.#root) : [hash];
    const refs = hashes.flatMap((one) =>
      threadIdsOf(this.#root, one).map((threadId) => ({ hash: one, threadId })),
    );
    const found: ThreadInfo[] = [];
    for (const ref of refs.sort((a, b) => (a.threadId < b.threadId ? 1 : -1))) {
      if (found.length >= limit) break;
      if (before !== undefined && ref.threadId >= before) continue;
      const info = this.#info(ref);
      if (info) found.push(info);
    }
    return found;
  }

  async remove(ref: ThreadRef): Promise<boolean> {
    this.#check();
    const { hash, threadId } = ref;
    if (!isHash(hash)) return false;
    await this.#claims.get(threadId)?.claim.fenced();
    if (!this.#locks.take(hash)) throw threadClaimed(threadId);
    try {
      await removeThreadFiles(this.#root, hash, checkThreadId(threadId));
      this.#trust.removed(threadId);
      return true;
    } catch (error) {
      if (isWorkflowError(error) && error.code === "THREAD_NOT_FOUND") return false;
      throw error;
    } finally {
      this.#locks.release(hash);
    }
  }

  async setPaused(ref: ThreadRef, paused: boolean): Promise<ThreadInfo | null> {
    this.#check();
    const info = this.#info(ref);
    if (!info || info.state.kind === "ended") return info;
    notePaused(this.#root, ref, paused);
    return { ...info, paused };
  }

  async read(ref: ThreadRef, log: LogName, cursor?: string): Promise<LogPage> {
    this.#check();
    const { hash, threadId } = ref;
    if (!isHash(hash) || !isCreated(this.#root, hash, threadId)) throw notFound(threadId);
    const lost = log === "journal" && lostJournal(this.#root, ref);
    if (lost) throw journalCorrupt(`${this.where(ref, log)}:${lost.line}`, lost.reason, threadId);
    return readPage(logPath[log](this.#root, hash, threadId), cursor);
  }

  where({ hash, threadId }: ThreadRef, log: LogName): string {
    return logPath[log](this.#root, hash, threadId);
  }

  async readValue({ hash, threadId }: ThreadRef, at: number): Promise<string | null> {
    if (!Number.isSafeInteger(at) || at < 0) return null;
    return valueAt(valuesPath(this.#root, hash, threadId), at);
  }

  async readBlob({ hash, threadId }: ThreadRef, id: string): Promise<Uint8Array | null> {
    return isBlobId(id) ? readBlob(join(blobsDir(this.#root, hash, threadId), id), id) : null;
  }

  async listBlobs({ hash, threadId }: ThreadRef): Promise<string[]> {
    return blobIds(this.#root, hash, threadId).sort();
  }

  async claim(ref: ThreadRef, options: ClaimOptions): Promise<Claim | null> {
    this.#check();
    const { hash } = ref;
    const threadId = checkThreadId(ref.threadId);
    if (!isHash(hash)) throw notFound(threadId);
    const before = this.#claims.get(threadId);
    if (before && !options.takeOver) return null;
    await before?.claim.fenced();
    this.#check();
    // Another call may have claimed the thread in the meantime.
    if (this.#claims.has(threadId) || !this.#locks.take(hash)) return null;
    try {
      return this.#open({ hash, threadId }, options);
    } catch (error) {
      this.#locks.release(hash);
      // The error may come from a failed sync.
      if (!isWorkflowError(error) || !refusals.has(error.code)) this.#trust.doubt(threadId);
      throw error;
    }
  }

  #open(ref: ThreadRef, { owner, durability }: ClaimOptions): DiskClaim {
    const { hash, threadId } = ref;
    const path = dataPath(this.#root, hash, threadId);
    checkHere(this.#root, ref);
    const log = readThread(path, threadId);
    const writing = this.#writingFor(durability);
    const isSuspect = this.#trust.isSuspect(threadId);
    const journal = new JournalFile(this.#root, ref, { writing, isSuspect });
    const torn = log.torn > 0 ? truncateTail(path, threadId, log.size, log.torn) : null;
    const writer = isSuspect
      ? LogWriter.renew(path, log, writing)
      : LogWriter.open(path, log, writing);
    this.#trust.renewed(threadId);
    const cut: Cut | null = torn
      ? { log: "data", ...torn }
      : journal.cut && { log: "journal", ...journal.cut };
    const info = { ...infoOf(ref, log, log.steps.length), owner };
    return this.#claimOf(
      { ...info, paused: isPaused(this.#root, ref) },
      { log, writer, journal, writing, cut, owner },
    );
  }

  #claimOf(
    thread: ThreadInfo,
    {
      owner,
      ...parts
    }: {
      log: Pick<ThreadLog, "start" | "steps" | "end" | "journal">;
      writer: LogWriter;
      journal: JournalFile;
      writing: Writing;
      cut: Cut | null;
      owner: string;
    },
  ): DiskClaim {
    const { hash, threadId } = thread;
    fences = (fences + 1) % 1000;
    const fence = system.clock.now() * 1000 + fences;
    const claim = new DiskClaim({
      ...parts,
      root: this.#root,
      thread,
      fence,
      onRelease: (isSuspect) => {
        if (isSuspect) this.#trust.doubt(threadId);
        this.#claims.delete(threadId);
        this.#locks.release(hash);
      },
    });
    this.#claims.set(threadId, { claim, owner });
    this.#trust.claimed(threadId);
    return claim;
  }

  async runnable(options: RunnableOptions): Promise<ThreadInfo[]> {
    return await runnableThreads(this.#root, options, {
      info: (ref) => this.#info(ref),
      list: () => this.list({ limit: Number.POSITIVE_INFINITY }),
      locks: this.#locks,
      claimOf: (threadId) => this.#claims.get(threadId)?.claim ?? null,
      trust: this.#trust,
    });
  }

  async postpone(ref: ThreadRef, until: number): Promise<void> {
    const info = this.#info(ref);
    if (!info) return;
    const at = info.state.kind === "waiting" ? info.state.dueAt : null;
    if (at !== null) postponeDue(this.#root, { ...ref, at }, until);
    else notePostponed(this.#root, info, until);
  }

  watch(signal: AbortSignal, ref?: ThreadRef): AsyncGenerator<StoreChange> {
    return watchStore(this.#root, AbortSignal.any([signal, this.#closed.signal]), ref);
  }

  async close(): Promise<void> {
    this.#closed.abort();
    for (const { claim } of [...this.#claims.values()]) await claim.fenced();
  }

  #info(ref: ThreadRef): ThreadInfo | null {
    return readInfo(this.#root, ref, this.#claims.get(ref.threadId)?.owner ?? null);
  }

  #check(): void {
    if (this.#closed.signal.aborted) throw storeClosed(this.#root);
  }

  #writingFor(durability: Durability | undefined): Writing {
    return durability === "os" ? { ...this.#writing, syncer: null } : this.#writing;
  }

  // A process syncs the name of a folder only once.
  #makeFolder(folder: string): void {
    const { made } = this.#writing;
    if (made?.has(folder) && system.files.exists(folder)) return;
    makeFolder(folder);
    made?.add(folder);
  }
}

let fences = 0; // Makes fences of the same millisecond distinct.
