import type { Step } from "../contract/contract.ts";
import type { Durability } from "../control/control.ts";
import type { EndRecord, JournalHead, StartRecord } from "../record/record.ts";
import type { ThreadRef } from "../record/thread.ts";

/**
 * A thread store keeps bundles, the registry and threads. The engine, the worker and the journal access storage only
 * through it. Implementations: the storage root of a machine, memory, a Restate cluster, a PostgreSQL database.
 * {@link storeContract} tests them.
 *
 * Rules for every implementation:
 *
 * S1 A write is durable before its promise resolves, and readers in any process see it whole or not at all. The
 *    exception is {@link Claim.event}, which is best effort.
 * S2 Only the holder of a thread's current claim appends to it. Every claim has a higher fence than all earlier claims
 *    of that thread; a write with an older fence is refused with {@link FencedError} and changes nothing.
 * S3 Records are kept in the order in which they were appended. Each gets the chained checksum of `record/sum.ts` as
 *    its last field; `read` returns records with it. The data log and the journal have a chain each; events have no
 *    checksums.
 * S4 A write that fails with an error other than a refusal may have been applied. The claim is then over: its holder
 *    claims the thread again and reads its logs.
 * S5 Nothing follows the record that ends a thread, except events and their values: `append` and `journal` throw
 *    `WorkflowError` `THREAD_ENDED`, and the claim still holds. An ended thread can still be claimed, to write its
 *    events.
 * S6 A store that finds damage throws a `WorkflowError` that names the place. It never skips a record.
 *
 * Texts are JSON without line breaks. Times are milliseconds since the epoch. A store copies the bytes that it gets. A
 * ref matches a thread only if both have the same hash. Every method may throw the `WorkflowError` of its medium (a
 * full disk, a lost connection), and `STORE_CLOSED` after `close`.
 */
export interface ThreadStore {
  /** Maximum length of a record for `append` and `journal`, in bytes of UTF-8 without the checksum. */
  readonly maxRecordBytes: number;
  /** Queries about many threads. Without an index, a host reads the list of all threads, and their logs. */
  readonly index?: ThreadIndex;
  /**
   * Whether a failed read may succeed later, because the store could not be reached. Without this method, every failed
   * read is final.
   */
  isPassing?(error: unknown): boolean;

  // Bundles: immutable files, named by the hash of their code

  /** Stores a bundle. Its files replace the existing files; existing types and map stay when the bundle has none. */
  putBundle(bundle: StoredBundle): Promise<void>;
  /** Reads a bundle with all its files; null when it is missing. The caller checks the hash. */
  readBundle(hash: string): Promise<StoredBundle | null>;
  /** Lists the hashes of all bundles, sorted. */
  listBundles(): Promise<string[]>;
  /** Removes a bundle; its threads stay. A missing bundle changes nothing. */
  removeBundle(hash: string): Promise<void>;
  /**
   * Removes a bundle, unless a thread or the registry needs it, in one step. Returns whether it is removed. Without this
   * method, a bundle is removed after a check.
   */
  removeUnused?(hash: string): Promise<boolean>;

  // The registry: one text, replaced by compare-and-set

  /** Reads the registry's text and its version; an empty text in a new store. */
  readRegistry(): Promise<RegistryState>;
  /** Replaces the registry if its version is still `expected`; otherwise returns false and changes nothing. */
  replaceRegistry(text: string, expected: string): Promise<boolean>;

  // Threads

  /**
   * Creates a thread with its initial content atomically: after a crash it exists whole or not at all. Ids are unique:
   * if a thread of any bundle has the id, nothing changes and that thread is returned. Of concurrent calls with one id
   * exactly one creates the thread. With `claim` that call also claims the thread, before any other caller can; `claim`
   * is null for an existing thread. The thread's bundle need not be in the store; `lacksBundle` is true when the store
   * knows that the bundle is missing.
   * @throws WorkflowError `RECORD_TOO_LARGE`; `THREAD_MOVED`
   */
  create(
    thread: NewThread,
    claim?: ClaimOptions,
  ): Promise<{
    created: boolean;
    thread: ThreadInfo;
    claim: Claim | null;
    lacksBundle?: boolean;
  }>;
  /** Finds a thread by its id; null when there is none. */
  find(threadId: string): Promise<ThreadInfo | null>;
  /** Returns a page of threads, highest id first. */
  list(query?: ListQuery): Promise<ThreadInfo[]>;
  /**
   * Removes a thread with all its data. Returns false when there is none. Its holder is fenced, and its id may be used
   * again.
   * @throws WorkflowError `THREAD_CLAIMED` when the store can't fence the holder, which is another process
   */
  remove(ref: ThreadRef): Promise<boolean>;
  /**
   * Records whether a thread should stop at its next yield. Returns the thread; null when there is none. An ended
   * thread is not changed. The holder of the claim learns of the change from its next `append` and from `watch`. The
   * mark stays until it is changed.
   */
  setPaused(ref: ThreadRef, paused: boolean): Promise<ThreadInfo | null>;
  /**
   * Reads a page of whole lines of one of a thread's logs, from a cursor or from the start. A page has at least one
   * line if any is left, and at most about a mebibyte unless its only line is longer. A log that was never written is
   * empty. The returned cursor continues the read, now or later, in any process.
   * @throws WorkflowError `BAD_POSITION` for a text that is not a cursor, or a position within a line or after the end
   * of this log; `THREAD_NOT_FOUND`
   */
  read(ref: ThreadRef, log: LogName, cursor?: string): Promise<LogPage>;
  /** Returns the name of a thread's log for messages, such as a path or a URL. */
  where(ref: ThreadRef, log: LogName): string;
  /** Reads the JSON of a value stored by {@link Claim.keepValue}; null when the value or the thread is missing. */
  readValue(ref: ThreadRef, at: number): Promise<string | null>;
  /** Reads a blob of a thread; null when the blob or the thread is missing. */
  readBlob(ref: ThreadRef, id: string): Promise<Uint8Array | null>;
  /** Lists the ids of a thread's blobs, sorted; empty when the thread is missing. */
  listBlobs(ref: ThreadRef): Promise<string[]>;

  /**
   * Claims a thread for `owner`. Returns null when another claim holds it, even a claim of the same owner: a claim
   * holds until its release or the expiry of its lease. A store may reserve all threads of a bundle for the process
   * that holds one of them. `takeOver` fences the other claim; a store that can't fence a live holder still returns
   * null. A torn write of a crashed holder at the end of a log is cut off and reported as `cut`.
   * @throws WorkflowError `THREAD_NOT_FOUND`; `LOG_CORRUPT`; `THREAD_MOVED`
   */
  claim(ref: ThreadRef, options: ClaimOptions): Promise<Claim | null>;
  /**
   * Returns the threads that a worker may drive at this time, longest due first: running threads, and waiting threads
   * with a `dueAt` in the past, except paused and claimed threads. A running thread is due since its last record.
   * `hashes` limits the result to these bundles, `onlyDue` to waiting threads. The result is a hint, not a reservation:
   * `claim` decides.
   */
  runnable(options: RunnableOptions): Promise<ThreadInfo[]>;
  /**
   * Extends the leases of several claims of this object at once. Returns whether each claim still holds, in their order.
   * Without this method, each claim is renewed by itself.
   */
  renewAll?(claims: readonly Claim[]): Promise<boolean[]>;
  /** Excludes a thread that could not be driven from `runnable` until a time, or until its next record. */
  postpone(ref: ThreadRef, until: number): Promise<void>;
  /**
   * Yields changes from now on, until `signal` is aborted or the store is closed. The first item is `ready`: no later
   * change is missed. Changes of one thread may be merged. With `ref`, yields only changes of that thread, and none of
   * the registry. Throws when the changes can't be determined.
   */
  watch(signal: AbortSignal, ref?: ThreadRef): AsyncGenerator<StoreChange>;
  /** Releases the resources of this object. Its claims end, and their threads can be claimed. */
  close(): Promise<void>;
}

/** An index of a store's threads, for hosts. */
export interface ThreadIndex {
  /** Counts all threads; null when they are too many to count. */
  count(): Promise<number | null>;
  /** Lists the hashes of bundles that have threads. */
  hashes(): Promise<string[]>;
  /** Returns threads whose id begins or ends with a text in upper case, highest id first. */
  matching(text: string, limit: number): Promise<ThreadInfo[]>;
  /**
   * Returns the threads that a chain of forks connects with a thread: its first existing or removed ancestor, and all
   * forks that descend from it, by the `forkFrom` of start records.
   */
  relatives(threadId: string): Promise<ThreadInfo[]>;
  /** Returns the threads that run or are claimed, except ended and moved threads. */
  active(): Promise<ThreadInfo[]>;
  /** Returns the stored entries of threads by thread id. */
  entries(refs: readonly ThreadRef[]): Promise<Map<string, IndexEntry>>;
  /** Stores an entry for a thread, in place of an earlier entry. Does nothing when the thread is missing. */
  keep(ref: ThreadRef, entry: IndexEntry): Promise<void>;
}

/** The facts that a host computed from the logs of a thread with this number of records. The host must check them. */
export type IndexEntry = { records: number; json: string };

/**
 * One holder's right to write to a thread. A claim is over when it was released or fenced, or its lease has expired;
 * every write then throws {@link FencedError}. Writes are applied in the order of the calls.
 */
export interface Claim {
  readonly ref: ThreadRef;
  /** Fencing number, higher than the number of every earlier claim on the thread. */
  readonly fence: number;
  /** The thread at the time of the claim. */
  readonly thread: ThreadInfo;
  /** Records of the thread at that time, without their verified checksums. An ended thread has an `end`. */
  readonly start: StartRecord;
  readonly steps: readonly Step[];
  readonly end: EndRecord | null;
  /** The journal head in the last record that names a head; null if no record does. */
  readonly journalHead: JournalHead | null;
  /** Torn write of a crashed writer that was cut off the end of a log; null when there was none. */
  readonly cut: Cut | null;
  /** The highest `seq` of an event in the debug log when the thread was claimed; 0 when it has none. */
  readonly lastSeq: number;
  /** Aborted when the claim has ended for a reason other than `release`, at the latest at the first refused write. */
  readonly lost: AbortSignal;
  /** Extends the lease. Returns false when the claim is over. A store without leases only checks the claim. */
  renew(): Promise<boolean>;
  /**
   * Appends a record, without its checksum, and the thread's state after it. A refused record is not written, not even
   * in part.
   * @throws FencedError; WorkflowError `RECORD_TOO_LARGE`, after which the claim still holds
   */
  append(record: string, state: ThreadState): Promise<Appended>;
  /**
   * Appends a record to the journal.
   * @throws like {@link append}
   */
  journal(record: string): Promise<void>;
  /**
   * Adds lines to the debug log, before the next appended record. Best effort: lines are lost without an error when the
   * claim is over, its process dies or the medium fails. Lines keep their order, and each is stored whole or not at
   * all. Lines are readable after a later `append` or `release` resolves.
   */
  event(lines: readonly string[]): void;
  /**
   * Stores a value that is too long for its event and returns its number, unique in the thread, for
   * {@link ThreadStore.readValue}; null when it can't be stored. The value is readable before any later event. Best
   * effort: a claim fenced by another process may return a number before the fencing is noticed; that value is lost,
   * like its events.
   */
  keepValue(json: string): number | null;
  /**
   * Stores a blob and returns its id, `blobIdOf` its bytes; null when the thread's blobs would exceed the store's
   * limit. Storing the same bytes again changes nothing.
   * @throws FencedError
   */
  putBlob(bytes: Uint8Array): Promise<string | null>;
  /** Makes all writes visible and ends the claim. Never throws; a second call does nothing. */
  release(): Promise<void>;
}

/** Files of a bundle. `hash` is the hash of `code`. */
export type StoredBundle = {
  hash: string;
  code: Uint8Array;
  /** The descriptor as YAML. */
  descriptor: string;
  /** Type declarations and source map, if any. */
  types?: string;
  map?: string;
};

/** Text and version of the registry. Equal versions mean equal texts. */
export type RegistryState = { text: string; version: string };

/** Whether a thread runs, waits for an answer or a time, or has ended. */
export type ThreadState =
  | { kind: "running" }
  /** `dueAt`: time at which the thread continues without an answer; null if never. */
  | { kind: "waiting"; dueAt: number | null }
  | { kind: "ended" };

/** A thread in a list. */
export type ThreadInfo = ThreadRef & {
  /** The name of the thread's workflow. */
  name: string;
  createdAt: number;
  /** Time of the thread's last record, by the record's timestamp or the store's clock. */
  updatedAt: number;
  /** Number of records in the thread's data log, including the start record. */
  records: number;
  state: ThreadState;
  paused: boolean;
  /** Holder of the claim, if known to this store; null when unclaimed. */
  owner: string | null;
  /** Name of the host to which the thread moved; null for a local thread. A moved thread is only read and copied. */
  movedTo: string | null;
  /** The time until which the thread is postponed; absent when it is not postponed, or the time is unknown. */
  postponedUntil?: number;
};

/** A new thread: start record, steps copied by a fork, and journal entries and blobs copied from its source. */
export type NewThread = ThreadRef & {
  name: string;
  createdAt: number;
  /** Records without checksums; the first is the start record. */
  records: readonly string[];
  journal?: readonly string[];
  /** Blobs to copy from another thread of the store. Missing blobs are skipped. */
  blobsFrom?: { ref: ThreadRef; ids: readonly string[] };
  state: ThreadState;
};

/** The logs of a thread: its records, its journal, its debug log. */
export type LogName = "data" | "journal" | "events";

/** Whole lines, and the cursor after the last line. `isEnd`: the log has no more lines for now. */
export type LogPage = { lines: string[]; cursor: string; isEnd: boolean };

/** Selects threads to list. `before`: only threads with a smaller id. `limit` is 20 by default. */
export type ListQuery = { before?: string; limit?: number; hash?: string };

/** Options of claiming a thread. */
export type ClaimOptions = {
  /** Name of the holder in lists. */
  owner: string;
  /** Length of the lease, in milliseconds. A store on one machine may hold the claim until its process ends instead. */
  leaseMs: number;
  takeOver?: boolean;
  /** `os`: acknowledges a write once the operating system has it, if the medium makes this distinction. */
  durability?: Durability;
};

/** Selects threads that a worker can claim. */
export type RunnableOptions = {
  now: number;
  limit: number;
  hashes?: readonly string[];
  onlyDue?: boolean;
};

/** Result of an append. `paused`: the thread should stop at its next yield. */
export type Appended = { paused: boolean };

/** An incomplete record at the end of a log, in bytes. `keptIn` is the path of the saved bytes, null when not saved. */
export type Cut = { log: LogName; bytes: number; keptIn: string | null };

/** A change that a store reports to its subscribers. */
export type StoreChange =
  | { kind: "ready" }
  /**
   * A thread was created, paused or resumed, or got a record, a journal entry or an event. Stores that keep claims on
   * the medium also report claims and releases.
   */
  | { kind: "thread"; ref: ThreadRef }
  | { kind: "removed"; ref: ThreadRef }
  | { kind: "registry" };

/** Thrown by a write of an ended claim. Nothing was written. */
export class FencedError extends Error {
  constructor(threadId: string) {
    super(`${threadId}: the claim on this thread is over`);
    this.name = "FencedError";
  }
}
