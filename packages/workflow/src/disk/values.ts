import { appendLines, byteAt, ifThere, withFile } from "./files.ts";
import { xxh64 } from "../record/xxh64.ts";
import { windowsOf } from "./line-file.ts";
import { newline, valueOf } from "../record/lines.ts";

// Maximum size in bytes, the same limit as for the debug log that refers to this file: diagnostics must not fill the
// disk.
const largestFile = 256 * 1024 * 1024;
const longestLine = 32 * 1024 * 1024;
const mostRemembered = 256;
const pieceSize = 64 * 1024;

/**
 * Writer of a thread's file of values, `.values.jsonl`, with each value that is too long for its event as one line of
 * JSON. An event refers to a value by the byte offset of its line. The line is in the file before `keep` returns, and
 * so before any event that refers to it. The file is not synced.
 */
export class ValuesFile {
  readonly #path: string;
  readonly #written = new Map<string, number>();

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Appends a value's JSON and returns its byte offset. Does not write a recently written value again. Returns null
   * when the line has more than 32 MiB, the file would exceed 256 MiB, or the write fails. Never throws.
   */
  keep(json: string): number | null {
    if (json.length > longestLine) return null;
    const line = Buffer.from(`${json}\n`);
    if (line.length > longestLine) return null;
    const key = `${line.length} ${xxh64(line)}`;
    try {
      const at = this.#written.get(key) ?? appendLines(this.#path, line, largestFile);
      if (at !== null) this.#remember(key, at);
      return at;
    } catch {
      // A failed write must not stop the thread.
      return null;
    }
  }

  #remember(key: string, at: number): void {
    this.#written.delete(key);
    this.#written.set(key, at);
    const [oldest] = this.#written.keys();
    if (this.#written.size > mostRemembered && oldest) this.#written.delete(oldest);
  }
}

/**
 * Returns the JSON of the value at a byte offset of a file of values; null when no value starts there.
 * @throws the system's error for an existing but unreadable file.
 */
export function valueAt(path: string, at: number): string | null {
  const read = (fd: number) => {
    if (at > 0 && byteAt(fd, at - 1) !== newline) return null;
    const [window] = windowsOf(fd, { from: at, to: at + longestLine, size: pieceSize });
    const line = window?.bytes.subarray(0, window.bytes.indexOf(newline));
    // A crash of the system may have left a partial line, which is not a value.
    return line && valueOf(line) !== undefined ? line.toString("utf8") : null;
  };
  return ifThere(() => withFile(path, read));
}
