import type { Step } from "../contract/contract.ts";
import type { Durability } from "../control/control.ts";
import type { EndRecord, JournalHead, StartRecord } from "../record/record.ts";
import type { ThreadRef } from "../record/thread.ts";

/**
 * A thread store keeps bundles, the registry and threads. The engine, the worker and the journal use nothing else of
 * the place where threads live. Implementations: the storage root of a machine, memory, a Restate cluster.
 * {@link storeContract} has the rules that all of them pass.
 *
 * Rules for every implementation:
 *
 * S1 A write is durable before its promise resolves, and readers in any process see it whole or not at all. The
 *    exception is {@link Claim.event}, which is best effort.
 * S2 Only the holder of a thread's current claim appends to it. Every claim has a higher fence than all earlier ones of
 *    that thread; a write with an older fence is refused with {@link FencedError} and changes nothing.
 * S3 Records are kept in the order in which they were appended. Each gets the chained checksum of `record/sum.ts` as
 *    its last field; `read` returns records with it. The data log and the journal have a chain each; events have no
 *    checksums.
 * S4 A write that fails with an error other than a refusal may have happened. The claim is over then: its holder claims
 *    the thread again and reads what is there.
 * S5 Nothing follows the record that ends a thread, except events and their values: `append` and `journal` throw
 *    `WorkflowError` `THREAD_ENDED`, and the claim still holds. An ended thread can be claimed for its events.
 * S6 A store that finds damage throws a `WorkflowError` that names the place. It never skips a record.
 *
 * Texts are JSON without line breaks. Times are milliseconds since the epoch. A store keeps copies of the bytes that it
 * is given. A ref with another hash than its thread's names no thread. Every method may throw the `WorkflowError` of
 * its medium (a full disk, a lost connection), and `STORE_CLOSED` after `close`.
 */
export interface ThreadStore {
  /** The longest record that `append` and `journal` take, in bytes of UTF-8 without the checksum. */
  readonly maxRecordBytes: number;

  // Bundles: immutable files, named by the hash of their code

  /** Stores a bundle. Its files replace existing ones; existing types and map stay when the bundle has none. */
  putBundle(bundle: StoredBundle): Promise<void>;
  /** A bundle with all its files; null when the store has none with this hash. The caller checks the hash. */
  readBundle(hash: string): Promise<StoredBundle | null>;
  /** The hashes of all bundles, sorted. */
  listBundles(): Promise<string[]>;
  /** Removes a bundle; its threads stay. A missing bundle changes nothing. */
  removeBundle(hash: string): Promise<void>;

  // The registry: one text, replaced by compare-and-set

  /** The registry's text and its version; an empty text in a new store. */
  readRegistry(): Promise<RegistryState>;
  /** Replaces the registry if its version is still `expected`. Returns false, and changes nothing, when it is not. */
  replaceRegistry(text: string, expected: string): Promise<boolean>;

  // Threads

  /**
   * Creates a thread with all that it begins with, at once: after a crash it is there whole or not at all. An id is
   * used once: when the store has a thread with it, of any bundle, nothing changes and that thread is returned. Of
   * concurrent calls with one id exactly one creates. With `claim` the call that creates claims the thread too, before
   * anything else can; `claim` is null for a thread that was there. The thread's bundle need not be in the store.
   * @throws WorkflowError `RECORD_TOO_LARGE`; `THREAD_MOVED`
   */
  create(
    thread: NewThread,
    claim?: ClaimOptions,
  ): Promise<{ created: boolean; thread: ThreadInfo; claim: Claim | null }>;
  /** A thread; null when the store has none with this id. */
  find(threadId: string): Promise<ThreadInfo | null>;
  /** A page of threads, the highest id first. */
  list(query?: ListQuery): Promise<ThreadInfo[]>;
  /**
   * Removes a thread with everything of it. Returns false when there is none. Its holder is fenced, and its id may be
   * used again.
   * @throws WorkflowError `THREAD_CLAIMED` when the store can't fence the holder, which is another process
   */
  remove(ref: ThreadRef): Promise<boolean>;
  /**
   * Records whether a thread is to stop at its next yield. Returns the thread; null when there is none. An ended thread
   * is not changed. The holder of the claim learns of it by its next `append` and by `watch`. The mark stays until it
   * is changed.
   */
  setPaused(ref: ThreadRef, paused: boolean): Promise<ThreadInfo | null>;
  /**
   * Reads a page of whole lines of one of a thread's logs, from a cursor or from the start. A page has at least one
   * line where one is left, and about a mebibyte at most unless its one line is longer. A log that was never written is
   * empty. Reading from the returned cursor continues, now or later, in any process.
   * @throws WorkflowError `BAD_POSITION` for a text that is not a cursor, or names a place within a line or behind the
   * end of this log; `THREAD_NOT_FOUND`
   */
  read(ref: ThreadRef, log: LogName, cursor?: string): Promise<LogPage>;
  /** Names a log of a thread in messages: a path, a URL. */
  where(ref: ThreadRef, log: LogName): string;
  /** The JSON of a value that {@link Claim.keepValue} kept; null when there is none with this number, or no thread. */
  readValue(ref: ThreadRef, at: number): Promise<string | null>;
  /** A blob of a thread; null when it has none with this id, or there is no thread. */
  readBlob(ref: ThreadRef, id: string): Promise<Uint8Array | null>;
  /** The ids of a thread's blobs, sorted; none when there is no thread. */
  listBlobs(ref: ThreadRef): Promise<string[]>;

  /**
   * Claims a thread for `owner`. Null when another claim holds it, also of the same owner: a claim holds until its
   * release or the expiry of its lease. A store may reserve all threads of a bundle for the process that holds one of
   * them. `takeOver` fences the other claim; a store that can't fence a live holder still returns null. A torn write of
   * a crashed holder at the end of a log is cut off and reported as `cut`.
   * @throws WorkflowError `THREAD_NOT_FOUND`; `LOG_CORRUPT`; `THREAD_MOVED`
   */
  claim(ref: ThreadRef, options: ClaimOptions): Promise<Claim | null>;
  /**
   * Threads that a worker may drive at this time, longest due first: neither ended, nor paused, nor claimed, and
   * running, or waiting with a `dueAt` in the past. A running thread is due since its last record. `hashes` limits the
   * result to these bundles, `onlyDue` to waiting threads. A hint, not a reservation: claim decides.
   */
  runnable(options: RunnableOptions): Promise<ThreadInfo[]>;
  /** Keeps a thread that could not be driven out of `runnable` until a time, or until its next record. */
  postpone(ref: ThreadRef, until: number): Promise<void>;
  /**
   * Changes from now on, until `signal` is aborted: first `ready`, from which on nothing is missed. Changes of one
   * thread may be merged into one. With `ref` only those of that thread, and none of the registry. It ends when the
   * signal is aborted or the store is closed; it throws when it can't say what has changed.
   */
  watch(signal: AbortSignal, ref?: ThreadRef): AsyncGenerator<StoreChange>;
  /**
   * Releases what this object holds of its medium. Claims made through it are over, and their threads can be claimed.
   */
  close(): Promise<void>;
}

/**
 * One holder's right to write to a thread. A claim is over when it was released, fenced, or its lease has expired;
 * every write then throws {@link FencedError}. Writes are applied in the order of the calls.
 */
export interface Claim {
  readonly ref: ThreadRef;
  /** Higher than that of every earlier claim on the thread. */
  readonly fence: number;
  /** The thread as it was when it was claimed. */
  readonly thread: ThreadInfo;
  /** Its records then, checked against their checksums, and without these. An ended thread has an `end`. */
  readonly start: StartRecord;
  readonly steps: readonly Step[];
  readonly end: EndRecord | null;
  /** The last head of the journal that one of them names. */
  readonly journalHead: JournalHead | null;
  /** Torn write of a crashed writer that was cut off the end of a log; null when there was none. */
  readonly cut: Cut | null;
  /** The highest `seq` of an event in the debug log when the thread was claimed; 0 when it has none. */
  readonly lastSeq: number;
  /**
   * Aborted when the claim is known to be over for another reason than `release`: at the latest with the first refused
   * write.
   */
  readonly lost: AbortSignal;
  /** Extends the lease. Returns false when the claim is over. A store without leases only says whether it holds. */
  renew(): Promise<boolean>;
  /**
   * Appends a record, without its checksum, and the thread's state after it. A record is refused whole.
   * @throws FencedError; WorkflowError `RECORD_TOO_LARGE`, after which the claim still holds
   */
  append(record: string, state: ThreadState): Promise<Appended>;
  /** Appends a record to the journal. @throws as {@link append} does */
  journal(record: string): Promise<void>;
  /**
   * Adds lines to the debug log, before the next record that is appended. Best effort: the lines are lost when the
   * claim is over, its process dies or the medium fails, and nothing is thrown. Lines are never reordered, and each is
   * there whole or not at all. They can be read once a later `append` or `release` has resolved.
   */
  event(lines: readonly string[]): void;
  /**
   * Keeps a value that is too long for its event, for {@link ThreadStore.readValue}, and returns its number, which no
   * other value of the thread has; null when it can't be kept. It is there before any event that was added later. Best
   * effort: a claim that another process has fenced may return a number until it is known to be over, and that value is
   * lost as its events are.
   */
  keepValue(json: string): number | null;
  /**
   * Stores a blob and returns its id, `blobIdOf` its bytes; null when the thread's blobs would exceed the store's
   * limit. The same bytes again change nothing. @throws FencedError
   */
  putBlob(bytes: Uint8Array): Promise<string | null>;
  /** Ends the claim, with all that was written made visible. Never throws; a second call does nothing. */
  release(): Promise<void>;
}

/** Files of a bundle. `hash` is the hash of `code`. */
export type StoredBundle = {
  hash: string;
  code: Uint8Array;
  /** The descriptor as YAML. */
  descriptor: string;
  /** Type declarations and source map, where it has them. */
  types?: string;
  map?: string;
};

/** Of two states with one `version` the texts are the same. */
export type RegistryState = { text: string; version: string };

/** Whether a thread runs, waits for an answer or a time, or has ended. */
export type ThreadState =
  | { kind: "running" }
  /** `dueAt`: when it continues without an answer; null when it never does. */
  | { kind: "waiting"; dueAt: number | null }
  | { kind: "ended" };

/** A thread as lists have it. */
export type ThreadInfo = ThreadRef & {
  /** The name of its workflow. */
  name: string;
  createdAt: number;
  /** When its last record was appended, by the record's timestamp or the store's clock. */
  updatedAt: number;
  /** The number of records in its data log, the start record included. */
  records: number;
  state: ThreadState;
  paused: boolean;
  /** Holder of the claim, as far as this store can tell; null when unclaimed. */
  owner: string | null;
  /** The name of the host that it goes on on; null while it is here. A moved thread is read and copied only. */
  movedTo: string | null;
};

/** A new thread: start record, steps copied by a fork, and journal entries and blobs taken from its source. */
export type NewThread = ThreadRef & {
  name: string;
  createdAt: number;
  /** Records without checksums; the first is the start record. */
  records: readonly string[];
  journal?: readonly string[];
  /** Blobs to copy from another thread of the store. Missing ones are left out. */
  blobsFrom?: { ref: ThreadRef; ids: readonly string[] };
  state: ThreadState;
};

/** The logs of a thread: its records, its journal, its debug log. */
export type LogName = "data" | "journal" | "events";

/** Whole lines, and the cursor behind the last of them. `isEnd`: no more lines are there now. */
export type LogPage = { lines: string[]; cursor: string; isEnd: boolean };

/** `before`: only threads with a smaller id. 20 threads where no limit is given. */
export type ListQuery = { before?: string; limit?: number; hash?: string };

/** Options of claiming a thread. */
export type ClaimOptions = {
  /** Names the holder, in lists. */
  owner: string;
  /**
   * How long the claim holds without `renew`. A store on one machine may hold it as long as its process lives instead.
   */
  leaseMs: number;
  takeOver?: boolean;
  /** `os`: a write is acknowledged as soon as the system has it, where the medium makes a difference. */
  durability?: Durability;
};

/** Selects threads that a worker can claim. */
export type RunnableOptions = {
  now: number;
  limit: number;
  hashes?: readonly string[];
  onlyDue?: boolean;
};

/** `paused`: the thread is to stop at its next yield. */
export type Appended = { paused: boolean };

/** An incomplete record at the end of a log, in bytes. `keptIn` is the path of the saved bytes, null when not saved. */
export type Cut = { log: LogName; bytes: number; keptIn: string | null };

/** A change that a store tells its subscribers. */
export type StoreChange =
  | { kind: "ready" }
  /**
   * A thread was created, has a record, a journal entry or an event more, or was paused or resumed. Stores that keep
   * claims on the medium name claims and releases too.
   */
  | { kind: "thread"; ref: ThreadRef }
  | { kind: "removed"; ref: ThreadRef }
  | { kind: "registry" };

/** A write of a claim that is over. Nothing was written. */
export class FencedError extends Error {
  constructor(threadId: string) {
    super(`${threadId}: the claim on this thread is over`);
    this.name = "FencedError";
  }
}
