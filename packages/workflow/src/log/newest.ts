import { closeSync, constants, fstatSync, readSync } from "node:fs";
import { openOwnFile } from "../storage/read.ts";
import type { InfoRecord } from "./record.ts";

/** An event as it stands in a debug log. */
export type EventRecord = InfoRecord & { type: string; seq: number };

const pieceSize = 64 * 1024;
const newline = 10;

/** The events of a debug log, newest first; none of a file that can't be read. */
export function* newestEvents(path: string): Generator<EventRecord> {
  let fd: number;
  try {
    fd = openOwnFile(path, constants.O_RDONLY);
  } catch {
    return;
  }
  try {
    yield* eventsOf(fd);
  } finally {
    closeSync(fd);
  }
}

/** Reads from the end, piece by piece; the line that a piece begins in waits for the piece before it. */
function* eventsOf(fd: number): Generator<EventRecord> {
  let rest: Buffer = Buffer.alloc(0);
  for (let end = fstatSync(fd).size; end > 0; ) {
    const from = Math.max(0, end - pieceSize);
    const piece = Buffer.alloc(end - from);
    readSync(fd, piece, 0, piece.length, from);
    end = from;
    const bytes = Buffer.concat([piece, rest]);
    const first = from === 0 ? 0 : bytes.indexOf(newline) + 1;
    if (from > 0 && first === 0) {
      rest = bytes;
      continue;
    }
    rest = bytes.subarray(0, first);
    const lines = bytes.toString("utf8", first).split("\n");
    for (const line of lines.toReversed()) {
      const event = eventIn(line);
      if (event) yield event;
    }
  }
}

function eventIn(line: string): EventRecord | null {
  try {
    const record = JSON.parse(line) as EventRecord | null;
    return typeof record?.type === "string" && Number.isSafeInteger(record.seq) ? record : null;
  } catch {
    return null;
  }
}
