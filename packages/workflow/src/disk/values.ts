import { listNames, longestShown, markerOf, type TruncatedValue } from "../contract/event.ts";
import type { Mask } from "../contract/mask.ts";
import { isRecord } from "../contract/show.ts";
import { appendLines, byteAt, ifThere, withFile } from "./files.ts";
import { xxh64 } from "../record/xxh64.ts";
import { newline, valueOf, windowsOf } from "./line-file.ts";
import type { Sum } from "../record/sum.ts";

// As much as the debug log that refers to it: what only explains must not fill the disk.
const largestFile = 256 * 1024 * 1024;
const longestLine = 32 * 1024 * 1024;
const mostRemembered = 256;
const pieceSize = 64 * 1024;

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
    const key = `${line.length} ${xxh64(line)}`;
    try {
      const at = this.#written.get(key) ?? appendLines(this.#path, line, largestFile);
      if (at !== null) this.#remember(key, at);
      return at;
    } catch {
      // What can't be kept must not stop the thread that it is about.
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
 * The JSON of the value that begins at a byte of a file of values; null when none begins there. Reads
 * no more of the file than that value.
 * @throws the system's error when the file is there and can't be read.
 */
export function valueAt(path: string, at: number): string | null {
  const read = (fd: number) => {
    if (at > 0 && byteAt(fd, at - 1) !== newline) return null;
    const [window] = windowsOf(fd, { from: at, to: at + longestLine, size: pieceSize });
    const line = window?.bytes.subarray(0, window.bytes.indexOf(newline));
    // A crash of the system may have left a line half on the disk: a part of a value is none.
    return line && valueOf(line) !== undefined ? line.toString("utf8") : null;
  };
  return ifThere(() => withFile(path, read));
}

/** What a journal's event has in place of an entry that was too long for it; null when it has the entry. */
export function entryMarker(payload: unknown): TruncatedValue | null {
  const entry = isRecord(payload) ? payload.entry : null;
  return isRecord(entry) && entry._truncated === true ? (entry as TruncatedValue) : null;
}

/** The seed of the checksum of an event whose value has this JSON. */
export const valueSum = (json: string): Sum => xxh64(Buffer.from(json));

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

const ownJson = (value: unknown): boolean => isRecord(value) && typeof value.toJSON === "function";

// A secret may look like a number or like JSON: only texts are changed.
function maskedJson(json: string, mask: Mask): string {
  if (mask(json) === json && !json.includes(cut)) return json;
  return JSON.stringify(mask.value(JSON.parse(json)), (_name, value: unknown) =>
    isRecord(value) && value._truncated === true ? withoutBegun(value, mask) : value,
  );
}

// Who publishes a cut value may have cut through a secret.
function withoutBegun(value: Record<string, unknown>, mask: Mask): Record<string, unknown> {
  const { preview } = value;
  if (typeof preview !== "string") return value;
  const text = preview.replace(/\.\.\.$/, "");
  return { ...value, preview: `${text.slice(0, text.length - mask.pending(text))}...` };
}
