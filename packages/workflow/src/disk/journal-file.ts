import { WorkflowError } from "../contract/error.ts";
import { firstSum, nextSum } from "../record/sum.ts";
import { system } from "../system/system.ts";
import { LineFile } from "./line-file.ts";
import { type LogEnd, LogWriter, truncateTail } from "./writer.ts";
import type { Writing } from "./writing.ts";

/** The writer of a thread's journal. The file is created with the first record. */
export class JournalFile {
  readonly #path: string;
  readonly #threadId: string;
  readonly #writing: Writing;
  #writer: LogWriter | null = null;

  constructor(path: string, threadId: string, writing: Writing) {
    this.#path = path;
    this.#threadId = threadId;
    this.#writing = writing;
  }

  /** Appends a record. It is durable when this resolves. @throws WorkflowError as `LogWriter.append` does; `LOG_CORRUPT`. */
  async append(record: string): Promise<void> {
    if (!this.#writer && !system.files.exists(this.#path)) {
      this.#writer = LogWriter.create(this.#path, (add) => add(record), this.#writing);
      return;
    }
    this.#writer ??= LogWriter.open(this.#path, { ...this.#end(), isEnded: true }, this.#writing);
    await this.#writer.append(record);
  }

  async close(): Promise<void> {
    await this.#writer?.close();
  }

  /** Where the whole records end. A half-written record behind them is cut off. */
  #end(): LogEnd {
    const file = new LineFile(this.#path);
    let sum = firstSum;
    let size = 0;
    let line = 0;
    for (const { bytes, position } of file.forward()) {
      line += 1;
      const next = nextSum(bytes, sum);
      if (next === null) throw corrupt(this.#path, line);
      sum = next;
      size = position;
    }
    const torn = (system.files.stat(this.#path)?.size ?? size) - size;
    if (torn > 0) truncateTail(this.#path, this.#threadId, size, torn);
    return { size, sum };
  }
}

const corrupt = (path: string, line: number): WorkflowError =>
  WorkflowError.failed(
    "LOG_CORRUPT",
    `${path}:${line}: the checksum does not follow the record before`,
    "restore the file from a backup",
  );
