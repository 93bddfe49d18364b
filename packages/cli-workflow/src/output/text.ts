const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const lineBreaks = /\r\n|[\r\u0085\u2028\u2029]/g;

/**
 * Returns external text that is safe for a terminal. Every kind of line break becomes a line feed. Characters that move
 * the cursor, colour the screen or change the writing direction become escapes (`\u001b`).
 */
export function plain(text: string): string {
  return text
    .replace(lineBreaks, "\n")
    .replace(controls, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .toWellFormed();
}

export function firstLine(text: string): string {
  const line = plain(text)
    .split("\n")
    .find((each) => each.trim() !== "");
  return (line ?? "").replaceAll("\t", " ").trim();
}

export const oneLine = (text: string): string => plain(text).replace(/\s+/g, " ").trim();

/** Truncates a text to a width in columns, ending in an ellipsis. */
export function truncate(text: string, columns: number): string {
  if (Bun.stringWidth(text) <= columns) return text;
  // Created on demand, because a segmenter loads the Unicode tables.
  const segmenter = new Intl.Segmenter();
  let kept = "";
  let width = 0;
  for (const { segment } of segmenter.segment(text)) {
    width += Bun.stringWidth(segment);
    if (width > columns - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

export const padded = (text: string, columns: number): string =>
  text + " ".repeat(Math.max(0, columns - Bun.stringWidth(text)));

/** Formats a count: `1 step`, `3,000 steps`. */
export const count = (number: number, noun: string): string =>
  `${grouped(number)} ${noun}${number === 1 ? "" : "s"}`;

/** Returns the text for a thread that is out of rounds. */
export const stoppedText = (steps: number): string => `stopped at ${count(steps, "step")}`;

export const grouped = (number: number): string => number.toLocaleString("en-US");

export function sizeText(bytes: number): string {
  if (bytes < 1000) return count(bytes, "byte");
  return bytes < 1_000_000
    ? `${(bytes / 1000).toFixed(1)} kB`
    : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

const idDigits = 8;
const hashDigits = 7;

/**
 * Returns short forms of ids for a terminal, distinct within the list. Uses the end of a thread's id, because ids
 * of the same hour begin alike, and the beginning of other ids. Commands accept both forms.
 */
export function shortIds(
  ids: readonly string[],
  part: "beginning" | "ending" = "ending",
): (id: string) => string {
  const all = new Set(ids);
  const cut = (id: string, digits: number) =>
    part === "ending" ? id.slice(-digits) : id.slice(0, digits);
  let digits = idDigits;
  while (new Set([...all].map((id) => cut(id, digits))).size < all.size) digits += 1;
  return (id) => cut(id, digits);
}

export const shortHash = (hash: string): string => hash.slice(0, hashDigits);

export const versionText = (name: string, hash: string, terminal: boolean): string =>
  `${name} (${terminal ? shortHash(hash) : hash})`;

/** Indents every non-empty line of a text. */
export const hanging = (text: string, spaces: number): string =>
  text.replace(/^(?=.)/gm, " ".repeat(spaces));

const spans = [
  { unit: "d", ms: 86_400_000 },
  { unit: "h", ms: 3_600_000 },
  { unit: "m", ms: 60_000 },
  { unit: "s", ms: 1000 },
];

/** Returns the milliseconds of a unit of time: `s`, `m`, `h` or `d`. */
export const unitMs = (unit: string): number => spans.find((span) => span.unit === unit)?.ms ?? 0;

/** Returns the age of a moment: `3m ago`; after 30 days its date. Both arguments are in milliseconds. */
export function ago(moment: number, now: number): string {
  const past = now - moment;
  const span = spans.find(({ ms }) => past >= ms);
  if (!span || past < 5 * unitMs("s")) return "just now";
  if (past >= 30 * unitMs("d")) return isoTime(moment).slice(0, 10);
  return `${Math.floor(past / span.ms)}${span.unit} ago`;
}

/** Formats a duration in milliseconds: `0.4s`, `12s`, `3m 05s`, `2h 03m`, `4d 02h`. */
export function elapsed(milliseconds: number): string {
  const whole = Math.max(0, milliseconds);
  if (whole < 10_000) return `${(Math.floor(whole / 100) / 10).toFixed(1)}s`;
  const [large, small] = spans.slice(spans.findIndex(({ ms }) => whole >= ms));
  if (!large || !small) return `${Math.floor(whole / 1000)}s`;
  const rest = Math.floor((whole % large.ms) / small.ms);
  return `${Math.floor(whole / large.ms)}${large.unit} ${String(rest).padStart(2, "0")}${small.unit}`;
}

/** Returns a moment as RFC 3339 in UTC; a moment outside the calendar as its number. */
export function isoTime(moment: number): string {
  const date = new Date(moment);
  return Number.isNaN(date.getTime()) ? String(moment) : date.toISOString();
}
