import { writeSync } from "node:fs";
import { isatty } from "node:tty";
import { truncate } from "./text.ts";
import { outputFailed, valueTooDeep } from "./errors.ts";

export type Sink = {
  write(text: string): void;
  readonly terminal: boolean;
  /** Width of the terminal in columns; infinite without a terminal, so that a pipe gets the full text. */
  readonly columns: number;
};

/** Sinks of a command: results go to `results` (stdout), all other text to `notes` (stderr). */
export type Output = { results: Sink; notes: Sink };

/** Thrown when the reader of the results has exited (`… | head -1`); not reported. */
export class ReaderGone extends Error {}

export function processOutput(): Output {
  return {
    results: sinkOf(1, () => process.stdout.columns, true),
    notes: sinkOf(2, () => process.stderr.columns, false),
  };
}

// Writes synchronously, so that the exit of the process loses no output, even with a slow reader.
function sinkOf(fd: number, columnsOf: () => number | undefined, strict: boolean): Sink {
  let terminal: boolean | null = null;
  return {
    get terminal() {
      terminal ??= isatty(fd);
      return terminal;
    },
    get columns() {
      return this.terminal ? columnsOf() || 80 : Number.POSITIVE_INFINITY;
    },
    write(text) {
      try {
        writeWhole(fd, Buffer.from(text));
      } catch (error) {
        if (strict) throw goneOr(error);
      }
    },
  };
}

function writeWhole(fd: number, bytes: Buffer): void {
  for (let done = 0; done < bytes.length; ) {
    try {
      done += writeSync(fd, bytes, done);
    } catch (error) {
      // Another program made this pipe non-blocking, and the pipe is full.
      if (codeOf(error) !== "EAGAIN") throw error;
      Bun.sleepSync(1);
    }
  }
}

const refusals: Record<string, string> = {
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EFBIG: "the file would pass the size limit",
};

function goneOr(error: unknown): Error {
  const code = codeOf(error);
  if (code === "EPIPE") return new ReaderGone("the reader of the output has exited");
  return outputFailed(refusals[code] ?? code);
}

/** Returns the code of a system error, such as `ENOENT`; "" for other errors. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "";

/** Returns a command's JSON document: indented on a terminal, on one line in a pipe. */
export function jsonDocument(value: unknown, terminal: boolean): string {
  return `${jsonOf(value, terminal ? 2 : 0)}\n`;
}

/**
 * Returns a value as JSON.
 * @throws WorkflowError `VALUE_TOO_DEEP`.
 */
export function jsonOf(value: unknown, indent = 0): string {
  try {
    return JSON.stringify(value, null, indent) ?? "";
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw valueTooDeep(error);
  }
}

const glyphs = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const tickMs = 100;
const eraseLine = "\r\u001b[2K";
const eraseLineAbove = "\u001b[1A\u001b[2K";

/** Progress lines on stderr. Writes nothing if stderr is not a terminal. */
export type Spinner = {
  /** Erases the lines until the next tick, so that other text can be written. */
  clear(): void;
  stop(): void;
};

export function startSpinner(sink: Sink, dumb: boolean, lines: () => string[]): Spinner {
  if (!sink.terminal || dumb) return { clear: () => {}, stop: () => {} };
  let tick = 0;
  let shown = 0;
  const erased = (): string => {
    const text = shown > 0 ? eraseLine + eraseLineAbove.repeat(shown - 1) : "";
    shown = 0;
    return text;
  };
  const clear = () => {
    if (shown > 0) sink.write(erased());
  };
  const timer = setInterval(() => {
    tick = (tick + 1) % glyphs.length;
    const texts = lines().map((text) => truncate(`${glyphs[tick]} ${text}`, sink.columns - 1));
    const written = `${erased()}${texts.join("\n")}`;
    shown = texts.length;
    if (written !== "") sink.write(written);
  }, tickMs);
  return {
    clear,
    stop() {
      clearInterval(timer);
      clear();
    },
  };
}
