import { WorkflowError } from "../contract/error.ts";
import { firstSum, nextSum } from "../record/sum.ts";
import { system } from "../system/system.ts";
import { LineFile } from "./line-file.ts";
import { checkRecordSize, type LogEnd, LogWriter, type TornTail, truncateTail } from "./writer.ts";
import type { Writing } from "./writing.ts";

/** The writer of a thread's journal. The file is created with the first record. */
export class JournalFile {
  /** What was cut off its end because its writer crashed. */
  readonly cut: TornTail | null;
  readonly #path: string;
  readonly #writing: Writing;
  readonly #end: LogEnd | null;
  #writer: LogWriter | null = null;
  #last: Promise<void> = Promise.resolve();

  /** Checks what is there. @throws WorkflowError `LOG_CORRUPT`, and those of the disk */
  constructor(path: string, threadId: string, writing: Writing) {
    this.#path = path;
    this.#writing = writing;
    this.#end = system.files.exists(path) ? endOf(path) : null;
    const size = this.#end?.size ?? 0;
    const torn = (this.#end && (system.files.stat(path)?.size ?? size) - size) ?? 0;
    this.cut = torn > 0 ? truncateTail(path, threadId, size, torn) : null;
  }

  /** Appends a record. It is durable when this resolves. @throws WorkflowError as `LogWriter.append` does */
  append(record: string): Promise<void> {
    const append = () => this.#append(record);
    const appended = this.#last.then(append, append);
    this.#last = appended.catch(() => undefined);
    return appended;
  }

  async #append(record: string): Promise<void> {
    checkRecordSize(Buffer.byteLength(record));
    if (!this.#writer && !this.#end) {
      this.#writer = LogWriter.create(this.#path, (add) => add(record), this.#writing);
      return;
    }
    const known = { ...(this.#end as LogEnd), isEnded: true };
    this.#writer ??= LogWriter.open(this.#path, known, this.#writing);
    await this.#writer.append(record);
  }

  async close(): Promise<void> {
    await this.#last;
    await this.#writer?.close();
  }
}

function endOf(path: string): LogEnd {
  let sum = firstSum;
  let size = 0;
  let line = 0;
  for (const { bytes, position } of new LineFile(path).forward(0, [])) {
    line += 1;
    const next = nextSum(bytes, sum);
    if (next === null) throw corrupt(path, line);
    sum = next;
    size = position;
  }
  return { size, sum };
}

const corrupt = (path: string, line: number): WorkflowError =>
  WorkflowError.failed(
    "LOG_CORRUPT",
    `${path}:${line}: the checksum does not follow that of the line before`,
    "restore the file from a backup",
  );
