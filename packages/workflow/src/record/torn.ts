import { isUtf8 } from "node:buffer";
import { type Sum, tailOf } from "./sum.ts";
import { xxh64 } from "./xxh64.ts";

/**
 * Whether bytes are a strict prefix of a record as a writer writes it: one JSON object without whitespace, with its sum
 * last. A crash leaves such a prefix. Overwritten bytes are such a prefix only if the change is within an unfinished
 * text or number.
 *
 * @param previous The sum of the record before it; null in a log without sums, whose records may contain spaces.
 */
export function beginsRecord(bytes: Buffer, previous: Sum | null): boolean {
  if (bytes.length === 0 || !isUtf8Prefix(bytes)) return false;
  const found = scan(bytes, previous === null);
  if (found === "beginning") return true;
  if (found === null || found === "whole" || previous === null) return false;
  // The bytes before the sum determine the sum.
  const tail = Buffer.from(tailOf(xxh64(bytes.subarray(0, found.sumAt), previous)));
  const rest = bytes.subarray(found.sumAt);
  return rest.length < tail.length && tail.subarray(0, rest.length).equals(rest);
}

/** Whether bytes are one whole record of a log without sums. `mayHaveSum` is true for the first record of a log. */
export const isWholeWithoutSum = (bytes: Buffer, mayHaveSum: boolean): boolean =>
  isUtf8(bytes) && scan(bytes, !mayHaveSum) === "whole";

function isUtf8Prefix(bytes: Buffer): boolean {
  try {
    // Decode as a stream, because the bytes may end within a character.
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

type Expected = "value" | "value or end" | "key" | "key or end" | "colon" | "comma or end";
/** `sumAt`: the comma before the object's own key `sum`, where the scan stops. */
type Scanned = "beginning" | "whole" | { sumAt: number } | null;

const codes = { quote: 34, backslash: 92, comma: 44, colon: 58, open: 123, close: 125 };
const list = { open: 91, close: 93 };
const escapes = new Set(Buffer.from('"\\/bfnrt'));
const isHex = (byte: number) => /[0-9a-fA-F]/.test(String.fromCharCode(byte));
const spaces = new Set([9, 13, 32]);
const words = ["true", "false", "null"];
const number = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
const numberPrefix = /^-?((0|[1-9]\d*)(\.\d*)?((?<=\d)[eE][+-]?\d*)?)?$/;
const sumKey = '"sum"';

/** Scans one JSON object up to the end of the bytes; null for other bytes. */
function scan(bytes: Buffer, hasSpaces: boolean): Scanned {
  const stack: number[] = [];
  let expected: Expected = "value";
  let comma = -1;
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at] as number;
    if (hasSpaces && spaces.has(byte)) {
      at += 1;
      continue;
    }
    const top = stack.at(-1);
    const isEnd = byte === codes.close || byte === list.close;
    if (isEnd) {
      const opened = byte === codes.close ? codes.open : list.open;
      const mayEnd = expected.endsWith("end");
      if (!mayEnd || top !== opened) return null;
      stack.pop();
      at += 1;
      if (stack.length === 0) return at === bytes.length ? "whole" : null;
      expected = "comma or end";
    } else if (expected === "colon") {
      if (byte !== codes.colon) return null;
      at += 1;
      expected = "value";
    } else if (expected === "comma or end") {
      if (byte !== codes.comma) return null;
      comma = at;
      at += 1;
      expected = top === codes.open ? "key" : "value";
    } else if (byte === codes.quote) {
      const end = endOfText(bytes, at);
      if (end === null) return null;
      if (end > bytes.length) return "beginning";
      const isKey = expected.startsWith("key");
      if (isKey && stack.length === 1 && bytes.toString("latin1", at, end) === sumKey) {
        if (!hasSpaces) return { sumAt: comma };
      }
      at = end;
      expected = isKey ? "colon" : "comma or end";
    } else if (expected.startsWith("key") || (stack.length === 0 && byte !== codes.open)) {
      return null;
    } else if (byte === codes.open || byte === list.open) {
      stack.push(byte);
      at += 1;
      expected = byte === codes.open ? "key or end" : "value or end";
    } else {
      const end = endOfScalar(bytes, at);
      if (end === null) return null;
      if (end > bytes.length) return "beginning";
      at = end;
      expected = "comma or end";
    }
  }
  return "beginning";
}

/** Returns the end of a JSON text; a position after the bytes if they end within the text; null for an invalid text. */
function endOfText(bytes: Buffer, start: number): number | null {
  for (let at = start + 1; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (byte === codes.quote) return at + 1;
    if (byte < 32) return null;
    if (byte !== codes.backslash) continue;
    at += 1;
    const escaped = bytes[at];
    if (escaped === undefined) break;
    if (escapes.has(escaped)) continue;
    if (escaped !== 117) return null;
    if (!bytes.subarray(at + 1, at + 5).every(isHex)) return null;
    at += 4;
  }
  return bytes.length + 1;
}

/** Returns the end like {@link endOfText}, for a number, `true`, `false` or `null`. */
function endOfScalar(bytes: Buffer, start: number): number | null {
  let end = start;
  while (end < bytes.length && /[-+.0-9a-zE]/.test(String.fromCharCode(bytes[end] as number))) {
    end += 1;
  }
  const text = bytes.toString("latin1", start, end);
  if (text === "") return null;
  if (end < bytes.length) return words.includes(text) || number.test(text) ? end : null;
  const isBegun = words.some((word) => word.startsWith(text)) || numberPrefix.test(text);
  return isBegun ? bytes.length + 1 : null;
}
