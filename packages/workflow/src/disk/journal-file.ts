import { isRecord } from "../contract/show.ts";
import { ChainFold } from "../record/fold.ts";
import { firstSum } from "../record/sum.ts";
import type { ThreadRef } from "../record/thread.ts";
import { ifThere } from "./files.ts";
import { lostJournal } from "./journal.ts";
import { noteJournal } from "./location.ts";
import { foldFile } from "./log.ts";
import { journalPath, type Root } from "./paths.ts";
import { checkRecordSize, type LogEnd, LogWriter, type TornTail, truncateTail } from "./writer.ts";
import type { Writing } from "./writing.ts";
import { journalCorrupt } from "../record/errors.ts";

/** Options for writing a thread's journal. `isSuspect`: the page cache may have records that are not on the disk. */
type JournalWriting = { writing: Writing; isSuspect: boolean };

/** Checks the chain of a journal, but not the content of its records. */
class Chain extends ChainFold<unknown> {
  protected override readonly needsSums = true;
  protected override violation(value: unknown): string | null {
    return isRecord(value) ? null : "the record is not an object";
  }
  protected override record(value: unknown): unknown {
    return value;
  }
}

/** Writes a thread's journal. The first record creates the file, and a note beside the thread that a journal exists. */
export class JournalFile {
  /** The torn tail of a crashed writer, which was cut off; null without a torn tail. */
  readonly cut: TornTail | null;
  readonly #root: Root;
  readonly #ref: ThreadRef;
  readonly #path: string;
  readonly #with: JournalWriting;
  readonly #end: (LogEnd & { isEnded: boolean }) | null;
  #writer: LogWriter | null = null;

  /** Checks an existing journal. @throws WorkflowError `LOG_CORRUPT`, and the errors of the disk */
  constructor(root: Root, ref: ThreadRef, parts: JournalWriting) {
    const { hash, threadId } = ref;
    const path = journalPath(root, hash, threadId);
    this.#root = root;
    this.#ref = ref;
    this.#path = path;
    this.#with = parts;
    const chain = new Chain(path);
    const end = ifThere(() => foldFile(path, chain, true, () => true));
    const broken = chain.broken ?? (end ? null : lostJournal(root, ref));
    if (broken) throw journalCorrupt(`${path}:${broken.line}`, broken.reason, threadId);
    this.#end = end && { size: end.size, sum: chain.sum ?? firstSum, isEnded: end.isEnded };
    const torn = end?.torn ?? 0;
    this.cut = torn > 0 ? truncateTail(path, `${threadId}.journal`, end?.size ?? 0, torn) : null;
    // The thread continues from the last records, which may not be durable yet.
    if (end && (torn > 0 || !end.isEnded || parts.isSuspect)) this.#writer = this.#open();
  }

  /** Whether a sync has failed. */
  get isSuspect(): boolean {
    return this.#writer?.isSuspect ?? false;
  }

  /** Appends a record, durable when this resolves. @throws WorkflowError the errors of `LogWriter.append` */
  async append(record: string): Promise<void> {
    if (this.#writer) return await this.#writer.append(record);
    const writer = this.#end ? this.#open() : this.#create(record);
    this.#writer = writer;
    if (this.#end) await writer.append(record);
  }

  async close(): Promise<void> {
    await this.#writer?.close();
  }

  #create(record: string): LogWriter {
    checkRecordSize(Buffer.byteLength(record));
    return this.#noted(LogWriter.create(this.#path, (add) => add(record), this.#with.writing));
  }

  #open(): LogWriter {
    const { writing, isSuspect } = this.#with;
    const end = this.#end as LogEnd & { isEnded: boolean };
    return this.#noted(
      isSuspect
        ? LogWriter.renew(this.#path, end, writing)
        : LogWriter.open(this.#path, end, writing),
    );
  }

  #noted(writer: LogWriter): LogWriter {
    try {
      noteJournal(this.#root, this.#ref);
      return writer;
    } catch (error) {
      void writer.close();
      throw error;
    }
  }
}
