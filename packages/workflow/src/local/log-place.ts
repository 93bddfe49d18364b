import { closeSync, constants, lstatSync, readSync, statSync } from "node:fs";
import { dataPath, infoPath, type Root } from "../storage/paths.ts";
import { openOwnFile } from "../storage/read.ts";
import { LogTail } from "../log/follow.ts";
import type { ThreadRef } from "../thread/thread.ts";
import { LogReader } from "./log-reader.ts";
import { beginning, type Position } from "./position.ts";

const newline = 10;
const pieceSize = 64 * 1024;

/** A thread's log and debug log together: how many bytes, and when they changed last, in ms. */
export type LogChange = { size: number; changedAt: number };

/** How they are now, without a look into them; null when the thread has no log. */
export function changeOf(root: Root, { hash, threadId }: ThreadRef): LogChange | null {
  const data = lstatSync(dataPath(root, hash, threadId), { throwIfNoEntry: false });
  if (!data) return null;
  const info = lstatSync(infoPath(root, hash, threadId), { throwIfNoEntry: false });
  return {
    size: data.size + (info?.size ?? 0),
    changedAt: Math.max(data.mtimeMs, info?.mtimeMs ?? 0),
  };
}

/** Behind the last whole line of a thread's log and of its debug log, as they are now. */
export function newestPosition(root: Root, { hash, threadId }: ThreadRef): Position {
  // The log first: an event stands in its file before the step that it led to stands in the log.
  const data = wholeLines(dataPath(root, hash, threadId));
  return { data, info: wholeLines(infoPath(root, hash, threadId)) };
}

/** The bytes of a file up to the end of its last whole line. */
function wholeLines(path: string): number {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0) return 0;
  const fd = openOwnFile(path, constants.O_RDONLY);
  try {
    return lastNewline(fd, size) + 1;
  } finally {
    closeSync(fd);
  }
}

function lastNewline(fd: number, size: number): number {
  let length = 1;
  for (let end = size; end > 0; end -= length) {
    // Nearly every file ends with a newline: one byte tells.
    length = Math.min(end, end === size ? 1 : pieceSize);
    const bytes = Buffer.alloc(length);
    const at = bytes.subarray(0, readSync(fd, bytes, 0, length, end - length)).lastIndexOf(newline);
    if (at >= 0) return end - length + at;
  }
  return -1;
}

/**
 * Where a time lies in a thread's files: behind all that bears an earlier timestamp. A thread that began
 * since is behind nothing: its log may be new and hold older steps, those that a fork keeps.
 *
 * A worker that was held up may write a line long after the time in it. With `steps` the place is
 * therefore that of a step: before the first event of the step that was being made at the time.
 *
 * @param time In milliseconds since the epoch.
 */
export function positionAt(
  root: Root,
  ref: ThreadRef,
  time: number,
  { steps = false }: { steps?: boolean } = {},
): Position {
  const path = dataPath(root, ref.hash, ref.threadId);
  const [start] = new LogTail(path).read();
  if (!start || timeOf(start.value) >= time) return beginning;
  const isLater = (value: unknown) => timeOf(value) >= time;
  const data = firstLine(path, start.position, isLater);
  const made = steps ? new LogReader(root, ref, { data, info: 0 }).steps : null;
  const isOfLaterStep = (value: unknown) =>
    isLater(value) || (made !== null && (stepOf(value) ?? 0) > made);
  return { data, info: firstLine(infoPath(root, ref.hash, ref.threadId), 0, isOfLaterStep) };
}

const timeOf = (line: unknown): number =>
  (line as { timestamp?: number } | null | undefined)?.timestamp ?? 0;

const stepOf = (line: unknown): number | undefined =>
  (line as { step?: number } | null | undefined)?.step;

/** Where the first line begins that is later, from a line's beginning on; the earlier stand before. */
function firstLine(path: string, from: number, isLater: (value: unknown) => boolean): number {
  let low = from;
  let high = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  while (high - low > pieceSize) {
    const [cut, line] = firstTwo(new LogTail(path, Math.floor((low + high) / 2)));
    if (!cut || !line || cut.position >= high) break;
    if (isLater(line.value)) high = cut.position;
    else low = line.position;
  }
  for (const { value, position } of new LogTail(path, low).read()) {
    if (isLater(value)) break;
    low = position;
  }
  return low;
}

function firstTwo(tail: LogTail) {
  const found = [];
  for (const line of tail.read()) {
    found.push(line);
    if (found.length === 2) break;
  }
  return found;
}
