import { readEvent } from "../contract/event.ts";
import type { Claim } from "../store/store.ts";
import { system } from "../system/system.ts";
import { appendLines } from "./files.ts";
import { LineFile } from "./line-file.ts";
import { ValuesFile } from "./values.ts";

const largestFile = 256 * 1024 * 1024;
const fullNote = (now: number): string =>
  JSON.stringify({
    tag: "8ZKQ3WCE",
    content: `the debug log has ${largestFile} bytes: later lines are left out`,
    timestamp: now,
  });

/**
 * A thread's debug log and its long values, as files. The log is not synced. It is open only during writes, because a
 * worker may have more threads than it may open files. Drops lines that can't be written, or that would make the file
 * longer than 256 MiB. Never throws.
 */
export class EventFile implements Pick<Claim, "event" | "keepValue" | "lastSeq"> {
  readonly #path: string;
  readonly #values: ValuesFile | null;
  readonly #onWrite: () => void;
  #isFull = false;

  /** @param onWrite Called when the log has grown. */
  constructor(
    path: string,
    valuesPath: string | null = null,
    onWrite: () => void = () => undefined,
  ) {
    this.#path = path;
    this.#values = valuesPath === null ? null : new ValuesFile(valuesPath);
    this.#onWrite = onWrite;
  }

  get lastSeq(): number {
    try {
      for (const { value } of new LineFile(this.#path).backward()) {
        const event = readEvent(value);
        if (event) return event.seq;
      }
    } catch {
      // If the debug log can't be read, it can't be written either.
    }
    return 0;
  }

  event(lines: readonly string[]): void {
    if (this.#isFull || lines.length === 0) return;
    try {
      const bytes = Buffer.from(`${lines.join("\n")}\n`);
      if (appendLines(this.#path, bytes, largestFile) !== null) return this.#onWrite();
      this.#isFull = true;
      const note = Buffer.from(`${fullNote(system.clock.now())}\n`);
      appendLines(this.#path, note, largestFile + note.length);
    } catch {
      // A failed debug log must not stop the thread.
    }
  }

  keepValue(json: string): number | null {
    return this.#values?.keep(json) ?? null;
  }
}
