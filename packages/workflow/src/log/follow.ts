import { closeSync, constants, fstatSync, readSync, watch } from "node:fs";
import { WorkflowError } from "../contract/error.ts";
import { systemCode } from "../storage/disk-error.ts";
import { openOwnFile } from "../storage/read.ts";

const newline = 10;
const pieceSize = 1024 * 1024;

/** A line of a log: its JSON value (undefined when it is none) and the position after it, in bytes. */
export type Tailed = { value: unknown; position: number };

/**
 * Reads what a log has gained since it was last asked, whole lines only. A position is a number of
 * bytes: a reader that kept one goes on there, also in another process.
 */
export class LogTail {
  readonly #path: string;
  position: number;

  constructor(path: string, position = 0) {
    this.#path = path;
    this.position = position;
  }

  /**
   * The lines that are new. A file that is not there has none. Of lines without any of the texts
   * `holding` the value is undefined.
   *
   * @throws WorkflowError `LOG_REPLACED` when the file is shorter than what was already read.
   */
  *read(holding?: readonly string[]): Generator<Tailed> {
    const fd = this.#open();
    if (fd === null) return;
    try {
      yield* this.#lines(fd, holding);
    } finally {
      closeSync(fd);
    }
  }

  #open(): number | null {
    try {
      return openOwnFile(this.#path, constants.O_RDONLY);
    } catch (error) {
      if (systemCode(error) === "ENOENT") return null;
      throw error;
    }
  }

  *#lines(fd: number, holding?: readonly string[]): Generator<Tailed> {
    const total = fstatSync(fd).size;
    if (total < this.position) throw this.#replaced();
    let capacity = pieceSize;
    while (this.position < total) {
      const buffer = Buffer.allocUnsafe(Math.min(capacity, total - this.position));
      const length = readSync(fd, buffer, 0, buffer.length, this.position);
      const end = buffer.subarray(0, length).lastIndexOf(newline) + 1;
      if (end === 0) {
        // A file that is cut while it is read gives less than it had: what is left comes next time.
        if (length < buffer.length || length >= total - this.position) return;
        capacity *= 2;
        continue;
      }
      yield* this.#values(buffer.subarray(0, end), holding);
      capacity = pieceSize;
    }
  }

  *#values(bytes: Buffer, holding?: readonly string[]): Generator<Tailed> {
    for (let offset = 0; offset < bytes.length; ) {
      const end = bytes.indexOf(newline, offset);
      this.position += end + 1 - offset;
      const line = bytes.toString("utf8", offset, end);
      const isHeld = holding?.some((text) => line.includes(text)) ?? true;
      yield { value: isHeld ? parse(line) : undefined, position: this.position };
      offset = end + 1;
    }
  }

  #replaced(): WorkflowError {
    return new WorkflowError({
      code: "LOG_REPLACED",
      kind: "failed",
      message: `${this.#path} is shorter than what was read of it`,
      hint: "read it again from the start",
    });
  }
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/**
 * Resolves when one of the files may have changed: the system says so, `atMostMs` have passed, or
 * `signal` is aborted. Not every file system tells of changes, hence the bound.
 */
export function changed(paths: string[], atMostMs: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const wake = () => resolve();
  const timer = setTimeout(wake, atMostMs);
  const watchers = paths.map((path) => watchFile(path, wake));
  signal?.addEventListener("abort", wake, { once: true });
  return promise.finally(() => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", wake);
    for (const watcher of watchers) watcher?.close();
  });
}

function watchFile(path: string, onChange: () => void) {
  try {
    return watch(path, { persistent: false }, onChange).on("error", onChange);
  } catch {
    return null;
  }
}

/**
 * Calls back when files change, for as long as it is open. A file that is not there yet is taken up by
 * the next `ensure`. Not every file system tells of changes: look now and then all the same.
 */
export class FileWatch {
  readonly #onChange: () => void;
  readonly #watchers = new Map<string, ReturnType<typeof watchFile>>();

  constructor(paths: readonly string[], onChange: () => void) {
    this.#onChange = onChange;
    for (const path of paths) this.#watchers.set(path, null);
    this.ensure();
  }

  /** Watches what could not be watched before. */
  ensure(): void {
    for (const [path, watcher] of this.#watchers) {
      if (!watcher) this.#watchers.set(path, watchFile(path, this.#onChange));
    }
  }

  close(): void {
    for (const watcher of this.#watchers.values()) watcher?.close();
    this.#watchers.clear();
  }
}
