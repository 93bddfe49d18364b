import { dirname, join } from "node:path";
import type { WorkflowError } from "../contract/error.ts";
import { diskError } from "./disk-error.ts";
import {
  asideName,
  notPlain,
  openOwnFile,
  readFully,
  removeQuietly,
  withFile,
  writeAll,
  writeFileAtomic,
} from "./files.ts";
import { O_APPEND, O_CREAT, O_EXCL, O_RDWR, O_WRONLY } from "../system/port.ts";
import { system } from "../system/system.ts";
import { maxRecordBytes } from "../record/record.ts";
import { encode, firstSum, openEnd, seal, sealed, type Sum } from "../record/sum.ts";
import type { Writing } from "./writing.ts";
import { foreignWrite, logClosed, recordTooLarge } from "./errors.ts";

/** Checks the length of a record in bytes. @throws WorkflowError `RECORD_TOO_LARGE` above {@link maxRecordBytes}. */
export function checkRecordSize(length: number): void {
  if (length <= maxRecordBytes) return;
  throw recordTooLarge(length);
}

const newline = encode("\n");

/** The end of a log: its length in bytes, and the last record's sum, null in a log without sums. */
export type LogEnd = { size: number; sum: Sum | null };
/** Adds a record to a new log: its JSON text, or a copied record as bytes without the closing brace. */
export type AddRecord = (record: string | Uint8Array) => void;
/** Approximate size in bytes of one write to a new log. */
const pieceSize = 256 * 1024;
type KnownEnd = LogEnd & { isEnded: boolean };

/**
 * The only writer of a chained log: a thread's records, or its journal.
 *
 * L1 A record is durable before `append` resolves. Its newline is written after the sync, and readers ignore a record
 * without its newline.
 * L2 A failed append removes the partial record. If the removal fails, every later append is refused.
 * L3 After a failed sync every later append is refused: pages may be lost although the page cache marks them as clean.
 * L4 If the file's length differs from the recorded length, another writer has changed the file, and this writer stops.
 * L5 Records appended during a sync are synced together, and only the last record gets its newline after the sync. A
 * caller that needs L1 for each record appends a record only when the previous record is durable.
 */
export class LogWriter {
  readonly #path: string;
  readonly #fd: number;
  readonly #writing: Writing;
  #size: number;
  #sum: Sum | null;
  #refusal: WorkflowError | null = null;
  #last: Promise<void> | null = null;
  /** Records to write when the commit in progress has ended. */
  #next: { records: string[]; done: Promise<void> } | null = null;
  #isSuspect = false;

  private constructor(path: string, fd: number, { size, sum }: LogEnd, writing: Writing) {
    this.#path = path;
    this.#fd = fd;
    this.#size = size;
    this.#sum = sum;
    this.#writing = writing;
  }

  /**
   * Creates a log with the records that `fill` adds. The log appears complete or not at all, even when `fill` throws.
   * Durable on return if records are synced.
   */
  static create(path: string, fill: (add: AddRecord) => void, writing: Writing): LogWriter {
    const fillFile = (writer: LogWriter) => {
      let last = firstSum;
      let piece = Buffer.allocUnsafe(pieceSize);
      let size = 0;
      const flush = () => {
        writer.#write(piece.subarray(0, size));
        size = 0;
      };
      fill((record) => {
        const body = typeof record === "string" ? encode(openEnd(record)) : record;
        const { tail, sum } = seal(body, last);
        last = sum;
        const end = encode(`${tail}\n`);
        const length = body.length + end.length;
        if (size + length > piece.length) flush();
        if (length > piece.length) piece = Buffer.allocUnsafe(length);
        piece.set(body, size);
        piece.set(end, size + body.length);
        size += length;
      });
      flush();
      writer.#sum = last;
    };
    return LogWriter.#make(path, fillFile, writing, true);
  }

  /**
   * Copies a log with this end to a new file, and renames the new file to the log's name. Needed after a failed sync,
   * also of a lost process that did not report the failure: the page cache may have bytes that are not on the disk.
   */
  static renew(path: string, { size, sum, isEnded }: KnownEnd, writing: Writing): LogWriter {
    const read = (fd: number) => {
      const bytes = Buffer.allocUnsafe(size);
      return bytes.subarray(0, readFully(fd, bytes, 0));
    };
    const fillFile = (writer: LogWriter) => {
      writer.#write(withFile(path, read));
      writer.#sum = sum;
    };
    const writer = LogWriter.#make(path, fillFile, writing, false);
    // Readers see the record once its file is durable under the log's name.
    try {
      if (!isEnded) writer.#write(newline);
    } catch (error) {
      closeQuietly(writer.#fd);
      throw error;
    }
    return writer;
  }

  static #make(
    path: string,
    fillFile: (writer: LogWriter) => void,
    writing: Writing,
    isNew: boolean,
  ): LogWriter {
    // A renewed log is always synced, even if its steps are not.
    const isSynced = !isNew || writing.syncer !== null;
    const aside = asideName(path);
    let fd: number | null = null;
    try {
      fd = openOwnFile(aside, O_WRONLY | O_APPEND | O_CREAT | O_EXCL);
      const writer = new LogWriter(path, fd, { size: 0, sum: firstSum }, writing);
      fillFile(writer);
      if (isSynced) system.files.syncData(fd);
      giveName(aside, path, { isSynced, isNew });
      return writer;
    } catch (error) {
      if (fd !== null) closeQuietly(fd);
      removeQuietly(aside);
      throw diskError(error, "write", path);
    }
  }

  /** Opens a log with this end, and adds a missing last newline. */
  static open(path: string, end: KnownEnd, writing: Writing): LogWriter {
    let fd: number | null = null;
    try {
      fd = openOwnFile(path, O_WRONLY | O_APPEND);
      const writer = new LogWriter(path, fd, end, writing);
      // A record is visible to readers once it has its newline.
      if (!end.isEnded) system.files.syncData(fd);
      if (!end.isEnded) writer.#write(newline);
      return writer;
    } catch (error) {
      if (fd !== null) closeQuietly(fd);
      throw diskError(error, "open", path);
    }
  }

  /** Whether a sync has failed: the log must then be renewed before it continues. */
  get isSuspect(): boolean {
    return this.#isSuspect;
  }

  /**
   * Commits a record, given as its JSON text, after all earlier records.
   * @throws WorkflowError when it is not committed: `DISK_FULL`, `DISK_ERROR`, `FOREIGN_WRITE`, `RECORD_TOO_LARGE` …
   */
  async append(record: string): Promise<void> {
    if (this.#last === null && this.#next === null) return await this.#commitAll([record]);
    // Check each record before batching, so that an oversized record does not fail the other records of the batch.
    checkRecordSize(Buffer.byteLength(record));
    this.#next ??= this.#batch();
    this.#next.records.push(record);
    await this.#next.done;
  }

  #batch(): { records: string[]; done: Promise<void> } {
    const records: string[] = [];
    const commit = async () => {
      while (this.#last) await settled(this.#last);
      this.#next = null;
      await this.#commitAll(records);
    };
    return { records, done: commit() };
  }

  async #commitAll(records: readonly string[]): Promise<void> {
    const pending = this.#commit(records);
    if (!pending) return;
    this.#last = pending;
    try {
      await pending;
    } finally {
      this.#last = null;
    }
  }

  /**
   * Makes the last record's newline durable if records are synced. Resolves with false on a failure; never rejects.
   * Without a durable newline, readers miss the record after a power failure until the thread continues.
   */
  async settle(): Promise<boolean> {
    await this.#idle();
    if (this.#refusal) return false;
    try {
      this.#last = this.#writing.syncer?.sync(this.#fd, this) ?? null;
      await this.#last;
      return true;
    } catch (error) {
      this.#isSuspect = true;
      this.#refuse(error, "sync");
      return false;
    } finally {
      this.#last = null;
    }
  }

  /** Closes the file after the commits in progress. Never throws. */
  async close(): Promise<void> {
    await this.#idle();
    this.#refusal ??= logClosed(this.#path);
    closeQuietly(this.#fd);
  }

  async #idle(): Promise<void> {
    while (this.#last ?? this.#next)
      await settled((this.#next?.done ?? this.#last) as Promise<void>);
  }

  #commit(records: readonly string[]): Promise<void> | null {
    if (this.#refusal) throw this.#refusal;
    let sum = this.#sum;
    const texts = records.map((record) => {
      if (sum === null) return record;
      const one = sealed(record, sum);
      sum = one.sum;
      return one.text;
    });
    const text = texts.join("\n");
    const { syncer } = this.#writing;
    const bytes = encode(syncer ? text : `${text}\n`);
    for (const record of records) checkRecordSize(Buffer.byteLength(record));
    this.#checkAlone();
    const before = this.#size;
    this.#write(bytes);
    this.#sum = sum;
    if (!syncer) return null;
    try {
      const synced = syncer.sync(this.#fd, this);
      if (synced) return this.#endWhen(synced, before);
    } catch (error) {
      this.#failSync(error, before);
    }
    this.#endLine();
    return null;
  }

  async #endWhen(synced: Promise<void>, before: number): Promise<void> {
    try {
      await synced;
    } catch (error) {
      this.#failSync(error, before);
    }
    this.#endLine();
  }

  #endLine(): void {
    try {
      this.#write(newline);
    } catch (error) {
      throw this.#refuse(error, "write");
    }
  }

  #failSync(error: unknown, size: number): never {
    this.#isSuspect = true;
    const refusal = this.#refuse(error, "sync");
    try {
      truncateSynced(this.#fd, size);
    } catch {
      // The record stays without its newline, so readers ignore it.
    }
    throw refusal;
  }

  /** Checks that the log is still a regular file with one name and the length that this writer left. */
  #checkAlone(): void {
    let size: number;
    try {
      const found = system.files.statOpen(this.#fd);
      if (!found.isFile() || found.nlink !== 1) throw notPlain();
      size = found.size;
    } catch (error) {
      throw this.#refuse(error, "write");
    }
    if (size === this.#size) return;
    const foreign = foreignWrite(this.#path, size, this.#size);
    throw this.#refuse(foreign, "write");
  }

  #write(bytes: Uint8Array): void {
    try {
      writeAll(this.#fd, bytes);
      this.#size += bytes.length;
    } catch (error) {
      try {
        truncateSynced(this.#fd, this.#size);
      } catch {
        this.#isSuspect = true;
        throw this.#refuse(error, "write");
      }
      throw diskError(error, "write", this.#path);
    }
  }

  /** Returns the error of this and every later append. */
  #refuse(error: unknown, doing: string): WorkflowError {
    return (this.#refusal = diskError(error, doing, this.#path));
  }
}

/** Gives a synced file the name of its log. After a failure a new log does not exist, but a renewed log exists. */
function giveName(
  aside: string,
  path: string,
  { isSynced, isNew }: { isSynced: boolean; isNew: boolean },
): void {
  system.files.rename(aside, path);
  try {
    if (isSynced) system.files.syncFolder(dirname(path));
  } catch (error) {
    if (isNew) removeQuietly(path, true);
    throw error;
  }
}

// The caller that appended the record handles the failure.
const settled = (append: Promise<void>): Promise<void> => append.catch(() => undefined);

// close(2) closes the descriptor even when it fails.
function closeQuietly(fd: number): void {
  try {
    system.files.close(fd);
  } catch {}
}

function truncateSynced(fd: number, size: number): void {
  system.files.truncate(fd, size);
  system.files.sync(fd);
}

/** The length of a truncated tail in bytes, and the file with its bytes. */
export type TornTail = { bytes: number; keptIn: string };

/**
 * Truncates a log after its first `size` bytes: the rest is a partial record of a crash, which was never acknowledged.
 * First saves the cut bytes beside the log, in `<threadId>.torn-<size>`.
 *
 * Only the process that holds the hash's lock may call this.
 * @throws WorkflowError the errors of the disk; the log is then unchanged.
 */
export function truncateTail(path: string, threadId: string, size: number, torn: number): TornTail {
  const keptIn = join(dirname(path), `${threadId}.torn-${size}`);
  const truncate = (fd: number): TornTail => {
    const tail = Buffer.alloc(torn);
    const bytes = readFully(fd, tail, size);
    writeFileAtomic(keptIn, tail.subarray(0, bytes));
    truncateSynced(fd, size);
    system.files.syncFolder(dirname(path));
    return { bytes, keptIn };
  };
  try {
    return withFile(path, truncate, O_RDWR);
  } catch (error) {
    throw diskError(error, "truncate the torn tail of", path);
  }
}
