import { join } from "node:path";
import type { Step } from "../contract/contract.ts";
import { isWorkflowError, WorkflowError } from "../contract/error.ts";
import { checkThreadId, isHash, isThreadId } from "../contract/names.ts";
import { show } from "../contract/show.ts";
import type { Durability } from "../control/control.ts";
import { isEnd, maxRecordBytes, type StartRecord } from "../record/record.ts";
import { isBlobId } from "../record/blob-names.ts";
import { notFound } from "../record/selection.ts";
import type { ThreadRef } from "../record/thread.ts";
import { encode } from "../record/sum.ts";
import { xxh64 } from "../record/xxh64.ts";
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
import { blobIds, copyBlobs, readBlob } from "./blobs.ts";
import { readBundleFiles, removeBundleFiles, writeBundleFiles } from "./bundle-files.ts";
import { DiskClaim } from "./claim.ts";
import { diskError, systemCode } from "./disk-error.ts";
import { addDue, listDue, postponeDue, removeDue } from "./due.ts";
import { makeFolder, readOwnFile, removeFile, syncFolder, writeFileAtomic } from "./files.ts";
import { JournalFile } from "./journal-file.ts";
import { LineFile } from "./line-file.ts";
import { movedTo } from "./location.ts";
import { type Lock, takeLock, waitForLock } from "./lock.ts";
import { readLast, readStart, type ThreadLog } from "./log.ts";
import {
  blobsDir,
  dataPath,
  infoPath,
  journalPath,
  lockPath,
  loggedHashes,
  pausedPath,
  backupPath,
  registryLockPath,
  registryPath,
  type Root,
  storedHashes,
  threadIdsOf,
  threadsDir,
  valuesPath,
} from "./paths.ts";
import { createRoot } from "./root.ts";
import { checkHere, isCreated, removeThreadFiles, threadWithId, withThreadId } from "./threads.ts";
import { isPostponed, notePostponed } from "./postponed.ts";
import { infoOf, readThread } from "./thread-info.ts";
import { valueAt } from "./values.ts";
import { watchLogs } from "./watch-logs.ts";
import { checkRecordSize, LogWriter, truncateTail } from "./writer.ts";
import { durableWriting, type Writing } from "./writing.ts";

export type DiskStoreOptions = {
  /** The bundle whose lock this process holds: claims on its threads take no lock of their own. */
  lockedHash?: string;
  /** The worker before this one was lost, so the system's cache may show bytes that are not on the disk. */
  distrustsCache?: boolean;
};

const pageBytes = 1024 * 1024;
const createTimeoutMs = 5_000;

/**
 * The thread store of a storage root. A claim holds as long as the process lives: the lock of the thread's bundle, which the
 * system ends with the process, keeps other processes away, so there are no leases and a live holder can't be fenced from
 * another process.
 */
export class DiskStore implements ThreadStore {
  readonly maxRecordBytes = maxRecordBytes;
  readonly #root: Root;
  readonly #options: DiskStoreOptions;
  readonly #writing = durableWriting();
  readonly #claims = new Map<string, { claim: DiskClaim; owner: string }>();
  readonly #locks = new Map<string, { lock: Lock; claims: number }>();
  /** Threads whose log failed to sync: it is written anew before it is continued. */
  readonly #unsynced = new Set<string>();
  /** Threads that were claimed through this object, and so are trusted though the worker before was lost. */
  readonly #trusted = new Set<string>();
  readonly #closed = new AbortController();

  constructor(root: Root, options: DiskStoreOptions = {}) {
    this.#root = root;
    this.#options = options;
  }

  /** Whether a log is left that failed to sync: the next process must not trust the system's cache. */
  get hasUnsynced(): boolean {
    return this.#unsynced.size > 0;
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
    const text = readText(registryPath(this.#root)) ?? "";
    return { text, version: versionOf(text) };
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
    return { created: false, thread: this.#info(ref) ?? missing(ref), claim: null };
  }

  #create(thread: NewThread, options: ClaimOptions | undefined) {
    const { hash, threadId, name, createdAt, state, records } = thread;
    const ref = { hash, threadId };
    const path = dataPath(this.#root, hash, threadId);
    const writing = this.#writingFor(options?.durability);
    if (options && !this.#lock(hash)) throw held(threadId);
    let writer: LogWriter;
    try {
      this.#makeFolder(threadsDir(this.#root, hash));
      if (thread.blobsFrom) copyBlobs(this.#root, thread.blobsFrom, ref);
      if (thread.journal) writeJournal(this.#root, ref, thread.journal, writing);
      if (state.kind === "waiting" && state.dueAt !== null) {
        addDue(this.#root, { ...ref, at: state.dueAt }, writing.made);
      }
      const fill = (add: (record: string) => void) => records.forEach((record) => add(record));
      writer = LogWriter.create(path, fill, writing);
    } catch (error) {
      if (options) this.#unlock(hash);
      if (isCreated(this.#root, hash, threadId)) this.#unsynced.add(threadId);
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
    const log = { start: start as unknown as StartRecord, steps, end: null };
    const journal = this.#journalOf(ref, writing);
    const { owner } = options;
    const claim = this.#claimOf(info, { log, writer, journal, writing, cut: null, owner });
    return { created: true, thread: info, claim };
  }

  async find(threadId: string): Promise<ThreadInfo | null> {
    this.#check();
    const ref = isThreadId(threadId) ? threadWithId(this.#root, threadId) : null;
    // The process that created it may have ended before its name was durable.
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
    if (!this.#lock(hash)) throw held(threadId);
    try {
      removeThreadFiles(this.#root, hash, checkThreadId(threadId));
      this.#unsynced.delete(threadId);
      return true;
    } catch (error) {
      if (isWorkflowError(error) && error.code === "THREAD_NOT_FOUND") return false;
      throw error;
    } finally {
      this.#unlock(hash);
    }
  }

  async setPaused(ref: ThreadRef, paused: boolean): Promise<ThreadInfo | null> {
    this.#check();
    const info = this.#info(ref);
    if (!info || info.state.kind === "ended") return info;
    const path = pausedPath(this.#root, ref.hash, ref.threadId);
    if (paused) writeFileAtomic(path, "");
    else removeFile(path);
    return { ...info, paused };
  }

  async read(ref: ThreadRef, log: LogName, cursor?: string): Promise<LogPage> {
    this.#check();
    const { hash, threadId } = ref;
    if (!isHash(hash) || !isCreated(this.#root, hash, threadId)) throw notFound(threadId);
    const file = new LineFile(pathOf[log](this.#root, hash, threadId));
    const from = cursor === undefined ? 0 : positionOf(cursor, file);
    const lines: string[] = [];
    let bytes = 0;
    let end = from;
    for (const line of file.forward(from, [])) {
      if (bytes > 0 && bytes + line.bytes.length > pageBytes) {
        return { lines, cursor: String(end), isEnd: false };
      }
      lines.push(line.bytes.toString("utf8"));
      bytes += line.bytes.length + 1;
      end = line.position;
    }
    return { lines, cursor: String(end), isEnd: true };
  }

  where({ hash, threadId }: ThreadRef, log: LogName): string {
    return pathOf[log](this.#root, hash, threadId);
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
    // Another call may have come in between.
    if (this.#claims.has(threadId) || !this.#lock(hash)) return null;
    try {
      return this.#open({ hash, threadId }, options);
    } catch (error) {
      this.#unlock(hash);
      // A refusal of the disk may have been that of a sync.
      if (!isWorkflowError(error) || !refusals.has(error.code)) this.#unsynced.add(threadId);
      throw error;
    }
  }

  #open(ref: ThreadRef, { owner, durability }: ClaimOptions): DiskClaim {
    const { hash, threadId } = ref;
    const path = dataPath(this.#root, hash, threadId);
    checkHere(this.#root, ref);
    const log = readThread(path, threadId);
    const writing = this.#writingFor(durability);
    const { distrustsCache = false } = this.#options;
    const isSuspect =
      this.#unsynced.has(threadId) || (distrustsCache && !this.#trusted.has(threadId));
    const torn = log.torn > 0 ? truncateTail(path, threadId, log.size, log.torn) : null;
    const writer = isSuspect
      ? LogWriter.renew(path, log, writing)
      : LogWriter.open(path, log, writing);
    this.#unsynced.delete(threadId);
    this.#trusted.add(threadId);
    const journal = this.#journalOf(ref, writing);
    const cut: Cut | null = torn
      ? { log: "data", ...torn }
      : journal.cut && { log: "journal", ...journal.cut };
    const info = { ...infoOf(ref, log, log.steps.length), owner };
    const paused = system.files.exists(pausedPath(this.#root, hash, threadId));
    return this.#claimOf({ ...info, paused }, { log, writer, journal, writing, cut, owner });
  }

  #claimOf(
    thread: ThreadInfo,
    {
      owner,
      ...parts
    }: {
      log: Pick<ThreadLog, "start" | "steps" | "end">;
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
        if (isSuspect) this.#unsynced.add(threadId);
        this.#claims.delete(threadId);
        this.#unlock(hash);
      },
    });
    this.#claims.set(threadId, { claim, owner });
    this.#trusted.add(threadId);
    return claim;
  }

  async runnable({ now, limit, hashes, onlyDue = false }: RunnableOptions): Promise<ThreadInfo[]> {
    const held = new Map<string, boolean>();
    const isFree = (info: ThreadInfo): boolean => {
      const { hash, paused, owner, movedTo: host } = info;
      if (paused || owner !== null || host !== null) return false;
      if (hashes !== undefined && !hashes.includes(hash)) return false;
      if (!held.has(hash)) held.set(hash, this.#isHeldElsewhere(hash));
      return held.get(hash) === false && !isPostponed(this.#root, info, now);
    };
    const due: ThreadInfo[] = [];
    for (const entry of listDue(this.#root, now)) {
      if (due.length >= limit) break;
      const info = this.#info(entry);
      const at = info?.state.kind === "waiting" ? info.state.dueAt : null;
      // An entry may be older than the thread's log.
      if (at === null || at > now) this.#correct(entry, at);
      else if (info && isFree(info)) due.push(info);
    }
    if (onlyDue || due.length >= limit) return due;
    const others = (await this.list({ limit: Number.POSITIVE_INFINITY })).filter(
      (info) => info.state.kind === "running" && isFree(info),
    );
    others.sort((a, b) => a.updatedAt - b.updatedAt);
    return [...due, ...others].slice(0, limit);
  }

  #correct(entry: ThreadRef & { at: number }, at: number | null): void {
    if (at !== null && at !== entry.at) addDue(this.#root, { ...entry, at });
    removeDue(this.#root, entry);
  }

  async postpone(ref: ThreadRef, until: number): Promise<void> {
    const info = this.#info(ref);
    if (!info) return;
    const at = info.state.kind === "waiting" ? info.state.dueAt : null;
    if (at !== null) postponeDue(this.#root, { ...ref, at }, until);
    else notePostponed(this.#root, info, until);
  }

  async *watch(signal: AbortSignal, ref?: ThreadRef): AsyncGenerator<StoreChange> {
    const changed = new Map<string, ThreadRef>();
    let wake = Promise.withResolvers<void>();
    let registry = versionOf(readText(registryPath(this.#root)) ?? "");
    const ring = () => wake.resolve();
    const logs = watchLogs(this.#root, (one) => {
      if (ref && one.threadId !== ref.threadId) return;
      changed.set(one.threadId, one);
      ring();
    });
    const names = ref ? null : watchQuietly(this.#root, ring);
    const over = AbortSignal.any([signal, this.#closed.signal]);
    over.addEventListener("abort", ring);
    try {
      if (!over.aborted) yield { kind: "ready" };
      while (!over.aborted) {
        const all = [...changed.values()];
        changed.clear();
        for (const one of all) {
          const isThere = isCreated(this.#root, one.hash, one.threadId);
          yield { kind: isThere ? "thread" : "removed", ref: one };
        }
        const version = versionOf(readText(registryPath(this.#root)) ?? "");
        if (!ref && version !== registry) yield { kind: "registry" };
        registry = version;
        if (changed.size > 0) continue;
        // Not every file system reports every change.
        const before = ref && this.#sizesOf(ref);
        const cancel = system.clock.after(watchEveryMs, ring);
        await wake.promise;
        cancel();
        wake = Promise.withResolvers();
        logs.ensure();
        if (ref && this.#sizesOf(ref) !== before) changed.set(ref.threadId, ref);
      }
    } finally {
      logs.close();
      names?.close();
      over.removeEventListener("abort", ring);
    }
  }

  async close(): Promise<void> {
    this.#closed.abort();
    for (const { claim } of [...this.#claims.values()]) await claim.fenced();
  }

  #info(ref: ThreadRef): ThreadInfo | null {
    const { hash, threadId } = ref;
    const path = dataPath(this.#root, hash, threadId);
    try {
      const start = readStart(path);
      const last = readLast(path);
      if (!start || last.kind === "empty") return null;
      if (last.kind !== "record") return this.#infoOfDamaged(ref, start);
      const record = last.record;
      const facts = {
        start,
        end: record && isEnd(record) ? record : null,
        last: record && !isEnd(record) ? record : null,
      };
      const records = new LineFile(path).countTo(last.size)?.count ?? 0;
      return {
        ...infoOf(ref, facts, records - (facts.end ? 2 : 1)),
        paused: system.files.exists(pausedPath(this.#root, hash, threadId)),
        owner: this.#claims.get(threadId)?.owner ?? null,
        movedTo: movedTo(this.#root, ref),
      };
    } catch (error) {
      if (systemCode(error) === "ENOENT") return null;
      throw diskError(error, "read", path);
    }
  }

  // Its claim names the damage.
  #infoOfDamaged(ref: ThreadRef, start: StartRecord): ThreadInfo {
    return { ...infoOf(ref, { start, end: null, last: null }, 0), paused: false, owner: null };
  }

  #journalOf({ hash, threadId }: ThreadRef, writing: Writing): JournalFile {
    return new JournalFile(journalPath(this.#root, hash, threadId), threadId, writing);
  }

  #sizesOf({ hash, threadId }: ThreadRef): string {
    const paths = [dataPath, journalPath, infoPath, pausedPath];
    return paths
      .map((pathFor) => system.files.stat(pathFor(this.#root, hash, threadId))?.size ?? "")
      .join();
  }

  #check(): void {
    if (this.#closed.signal.aborted) throw closed(this.#root);
  }

  /** Whether another process holds the lock of a bundle's threads. */
  #isHeldElsewhere(hash: string): boolean {
    const isFree = this.#lock(hash);
    if (isFree) this.#unlock(hash);
    return !isFree;
  }

  #writingFor(durability: Durability | undefined): Writing {
    return durability === "os" ? { ...this.#writing, syncer: null } : this.#writing;
  }

  // The name of a folder is made durable by each process once.
  #makeFolder(folder: string): void {
    const { made } = this.#writing;
    if (made?.has(folder) && system.files.exists(folder)) return;
    makeFolder(folder);
    made?.add(folder);
  }

  #lock(hash: string): boolean {
    if (hash === this.#options.lockedHash) return true;
    const known = this.#locks.get(hash);
    if (known) {
      known.claims += 1;
      return true;
    }
    const lock = takeLock(lockPath(this.#root, hash), 0);
    if (lock) this.#locks.set(hash, { lock, claims: 1 });
    return lock !== null;
  }

  #unlock(hash: string): void {
    const known = this.#locks.get(hash);
    if (!known) return;
    known.claims -= 1;
    if (known.claims > 0) return;
    this.#locks.delete(hash);
    known.lock.release();
  }
}

/** Counts the claims of this process: two of one millisecond have different fences. */
let fences = 0;

const watchEveryMs = 2_000;
const mostRegistryBytes = 16 * 1024 * 1024;

const pathOf: Record<LogName, (root: Root, hash: string, threadId: string) => string> = {
  data: dataPath,
  journal: journalPath,
  events: infoPath,
};

/** Why a log is not continued, where that has nothing to do with the disk. */
const refusals: ReadonlySet<string> = new Set([
  "THREAD_NOT_FOUND",
  "LOG_CORRUPT",
  "NEWER_LOG",
  "THREAD_MOVED",
]);

function readText(path: string): string | null {
  const bytes = readOwnFile(path, mostRegistryBytes);
  return bytes && new TextDecoder().decode(bytes);
}

const versionOf = (text: string): string => xxh64(encode(text)).toString(16);

const missing = ({ threadId }: ThreadRef): never => {
  throw notFound(threadId);
};

const closed = (root: Root): WorkflowError =>
  WorkflowError.failed("STORE_CLOSED", `${root}: the store is closed`, "open it again");

const held = (threadId: string): WorkflowError =>
  WorkflowError.failed(
    "THREAD_CLAIMED",
    `${threadId}: another process drives the threads of its bundle`,
    "see which: uncaged-workflow ps",
  );

function positionOf(cursor: string, file: LineFile): number {
  const position = /^\d{1,15}$/.test(cursor) ? Number(cursor) : -1;
  if (position >= 0 && file.endsAt(position)) return position;
  throw WorkflowError.usage(
    "BAD_POSITION",
    `${show(cursor)} is not a position of ${file.path}`,
    "read from the start",
  );
}

function writeJournal(
  root: Root,
  { hash, threadId }: ThreadRef,
  records: readonly string[],
  writing: Writing,
): void {
  if (records.length === 0) return;
  const path = journalPath(root, hash, threadId);
  const fill = (add: (record: string) => void) => records.forEach((record) => add(record));
  void LogWriter.create(path, fill, writing).close();
}

function watchQuietly(folder: string, onChange: () => void): { close(): void } | null {
  try {
    return system.files.watch(folder, onChange, onChange);
  } catch {
    return null;
  }
}
