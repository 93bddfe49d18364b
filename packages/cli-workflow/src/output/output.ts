import { fstatSync, writeSync } from "node:fs";
import { WorkflowError } from "@uncaged/workflow/host";

/** One of the two streams that a command writes to. */
export type Sink = {
  write(text: string): void;
  readonly terminal: boolean;
  /** The width of the terminal in columns; endless where there is none: a pipe gets everything whole. */
  readonly columns: number;
};

/** Where a command writes: what it found goes to `results` (stdout), the rest to `notes` (stderr). */
export type Output = { results: Sink; notes: Sink };

/** Thrown when the reader of the results has gone (`… | head -1`): nobody is left to report to. */
export class ReaderGone extends Error {}

/** The streams of this process. */
export function processOutput(): Output {
  return {
    results: sinkOf(1, () => process.stdout.columns, true),
    notes: sinkOf(2, () => process.stderr.columns, false),
  };
}

// Written synchronously: nothing is then lost at the exit, however slow the reader is.
function sinkOf(fd: number, columnsOf: () => number | undefined, strict: boolean): Sink {
  let terminal: boolean | null = null;
  return {
    get terminal() {
      terminal ??= isTerminal(fd);
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

// Loading node:tty costs more than a whole command: it is asked only where there may be a terminal.
function isTerminal(fd: number): boolean {
  try {
    return fstatSync(fd).isCharacterDevice() && process.getBuiltinModule("node:tty").isatty(fd);
  } catch {
    return false;
  }
}

function writeWhole(fd: number, bytes: Buffer): void {
  for (let done = 0; done < bytes.length; ) {
    try {
      done += writeSync(fd, bytes, done, bytes.length - done);
    } catch (error) {
      // A pipe that another program made non-blocking is full.
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

function goneOr(error: unknown): unknown {
  const code = String(codeOf(error));
  if (code === "EPIPE") return new ReaderGone("nobody reads the output");
  return new WorkflowError(
    {
      code: "OUTPUT_FAILED",
      kind: "failed",
      message: `can't write the output: ${refusals[code] ?? code}`,
      hint: "make room where stdout goes, or send it elsewhere; what the command did is done",
    },
    { cause: error },
  );
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

/** The one JSON document of a command: on a terminal laid out for reading, in a pipe on one line. */
export function jsonDocument(value: unknown, terminal: boolean): string {
  return `${JSON.stringify(value, null, terminal ? 2 : 0)}\n`;
}

/** One object of a stream, on a line of its own. */
export function jsonLine(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}
