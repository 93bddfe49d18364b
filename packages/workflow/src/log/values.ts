import { closeSync, constants, fstatSync, ftruncateSync, readSync, writeSync } from "node:fs";
import { listNames, longestShown, markerOf } from "../contract/event.ts";
import type { Mask } from "../contract/mask.ts";
import { systemCode } from "../storage/disk-error.ts";
import { openOwnFile } from "../storage/files.ts";

const { O_APPEND, O_CREAT, O_RDONLY, O_RDWR } = constants;
// As much as the debug log that refers to it: what only explains must not fill the disk.
const largestFile = 256 * 1024 * 1024;
const longestLine = 32 * 1024 * 1024;
const mostRemembered = 256;
const pieceSize = 64 * 1024;
const newline = 10;

/**
 * The writer of a thread's file of values, `.values.jsonl`: each value that is too long for its event,
 * as one line of JSON. An event refers to the byte at which the line begins. A line is in the file
 * before `keep` returns, and so before any event that refers to it. Nothing is synced.
 */
export class ValuesFile {
  readonly #path: string;
  readonly #written = new Map<string, number>();

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Appends a value's JSON and gives the byte at which it begins. One that was written here lately is
   * not written again. Null when its line has more than 32 MiB, the file would get more than 256 MiB,
   * or it can't be written. Never throws.
   */
  keep(json: string): number | null {
    if (json.length > longestLine) return null;
    const line = Buffer.from(`${json}\n`);
    if (line.length > longestLine) return null;
    const key = `${line.length} ${Bun.hash.xxHash64(line)}`;
    const at = this.#written.get(key) ?? this.#append(line);
    if (at === null) return null;
    this.#written.delete(key);
    this.#written.set(key, at);
    if (this.#written.size > mostRemembered) this.#forgetOldest();
    return at;
  }

  #append(line: Buffer): number | null {
    try {
      const fd = openOwnFile(this.#path, O_RDWR | O_APPEND | O_CREAT);
      try {
        return appendLine(fd, line);
      } finally {
        closeSync(fd);
      }
    } catch {
      // What can't be kept must not stop the thread that it is about.
      return null;
    }
  }

  #forgetOldest(): void {
    for (const key of this.#written.keys()) {
      this.#written.delete(key);
      return;
    }
  }
}

/** Appends a line, behind a line of its own for what a crash left half written. */
function appendLine(fd: number, line: Buffer): number | null {
  const { size } = fstatSync(fd);
  const isTorn = size > 0 && byteAt(fd, size - 1) !== newline;
  const at = isTorn ? size + 1 : size;
  if (at + line.length > largestFile) return null;
  try {
    if (isTorn) writeSync(fd, "\n");
    for (let done = 0; done < line.length; ) done += writeSync(fd, line, done);
    return at;
  } catch (error) {
    // The beginning of a value is of no use, and may be what fills the disk.
    ftruncateSync(fd, size);
    throw error;
  }
}

/**
 * The JSON of the value that begins at a byte of a file of values; null when none begins there. Reads
 * no more of the file than that value.
 *
 * @throws the system's error when the file is there and can't be read.
 */
export function valueAt(path: string, at: number): string | null {
  let fd: number;
  try {
    fd = openOwnFile(path, O_RDONLY);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw error;
  }
  try {
    const isBeginning = at === 0 || byteAt(fd, at - 1) === newline;
    return isBeginning ? jsonIn(lineAt(fd, at)) : null;
  } finally {
    closeSync(fd);
  }
}

function byteAt(fd: number, at: number): number | undefined {
  const byte = Buffer.alloc(1);
  return readSync(fd, byte, 0, 1, at) === 1 ? byte[0] : undefined;
}

/** The line that begins at a byte; null when it has no end. */
function lineAt(fd: number, from: number): string | null {
  const pieces: Buffer[] = [];
  for (let at = from; at - from < longestLine; ) {
    const piece = Buffer.allocUnsafe(pieceSize);
    const length = readSync(fd, piece, 0, pieceSize, at);
    if (length === 0) return null;
    const end = piece.subarray(0, length).indexOf(newline);
    pieces.push(piece.subarray(0, end === -1 ? length : end));
    if (end !== -1) return Buffer.concat(pieces).toString("utf8");
    at += length;
  }
  return null;
}

// A crash of the system may have left a line half on the disk: a part of a value is none.
function jsonIn(line: string | null): string | null {
  try {
    if (line !== null) JSON.parse(line);
    return line;
  } catch {
    return null;
  }
}

/** Keeps a value's JSON and gives the byte at which it begins; null when it can't be kept. */
export type Keep = (json: string) => number | null;

const cut = '"_truncated":true';

/**
 * The JSON of an event's payload, without secrets. Each value that is longer than 10 KB is truncated on its own,
 * and so is each of those that {@link listNames} list; what is cut is given to `keep` first. Never throws.
 */
export function payloadJson(payload: unknown, mask: Mask, keep: Keep): string {
  try {
    // A text that is cut anyway is not written out with its whole payload before.
    const json = hasLongText(payload) ? null : (JSON.stringify(payload) ?? "null");
    if (json !== null && json.length <= longestShown) return maskedJson(json, mask);
    return cutJson(json !== null && ownJson(payload) ? JSON.parse(json) : payload, mask, keep);
  } catch {
    // What has no JSON (a cycle, a BigInt) is shown by its type alone.
    return `{${cut}}`;
  }
}

function hasLongText(value: unknown, levels = 4): boolean {
  if (levels === 0 || !isListing(value)) return false;
  return Object.values(value).some((one) => isLong(one) || hasLongText(one, levels - 1));
}

const isLong = (value: unknown): boolean =>
  typeof value === "string" && value.length > longestShown;

function cutJson(payload: unknown, mask: Mask, keep: Keep): string {
  const whole = (value: unknown): string | undefined => {
    const json: string | undefined = JSON.stringify(value);
    const shown = json === undefined ? json : maskedJson(json, mask);
    if (shown === undefined || shown.length <= longestShown) return shown;
    const at = keep(shown);
    return JSON.stringify({ ...markerOf(shown), ...(at !== null && { at }) });
  };
  const payloadOf = (given: Record<string, unknown>): string =>
    recordJson(given, mask, (value, name) => {
      if (listNames.includes(name) && isListing(value)) return recordJson(value, mask, whole);
      return isEvent(value) ? recordJson(value, mask, inEvent) : whole(value);
    });
  const inEvent = (value: unknown, name: string): string | undefined =>
    name === "payload" && isListing(value) ? payloadOf(value) : whole(value);
  return isListing(payload) ? payloadOf(payload) : (whole(payload) ?? "null");
}

/** Whether a value is an event of a child workflow: its values are cut, not it. */
const isEvent = (value: unknown): value is Record<string, unknown> =>
  isListing(value) && typeof value.type === "string" && isListing(value.payload);

function recordJson(
  record: Record<string, unknown>,
  mask: Mask,
  jsonOf: (value: unknown, name: string) => string | undefined,
): string {
  const parts = Object.entries(record).flatMap(([name, value]) => {
    const json = jsonOf(value, name);
    return json === undefined ? [] : [`${JSON.stringify(mask(name))}:${json}`];
  });
  return `{${parts.join(",")}}`;
}

/** Whether a value's own values are cut, each for itself: the marker of a truncated value is one itself. */
const isListing = (value: unknown): value is Record<string, unknown> =>
  isRecord(value) && value._truncated !== true && !ownJson(value);

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const ownJson = (value: unknown): boolean => isRecord(value) && typeof value.toJSON === "function";

// A secret may look like a number or like JSON: only texts are changed.
function maskedJson(json: string, mask: Mask): string {
  if (mask(json) === json && !json.includes(cut)) return json;
  return JSON.stringify(maskedValue(JSON.parse(json), mask));
}

function maskedValue(value: unknown, mask: Mask): unknown {
  if (typeof value === "string") return mask(value);
  if (Array.isArray(value)) return value.map((item) => maskedValue(item, mask));
  if (typeof value !== "object" || value === null) return value;
  const masked = Object.fromEntries(
    Object.entries(value).map(([name, item]) => [mask(name), maskedValue(item, mask)]),
  );
  return masked._truncated === true ? withoutBegun(masked, mask) : masked;
}

// Who publishes a cut value may have cut through a secret.
function withoutBegun(value: Record<string, unknown>, mask: Mask): Record<string, unknown> {
  const { preview } = value;
  if (typeof preview !== "string") return value;
  const text = preview.replace(/\.\.\.$/, "");
  return { ...value, preview: `${text.slice(0, text.length - mask.pending(text))}...` };
}
