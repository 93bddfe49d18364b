const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const lineBreaks = /\r\n|[\r\u0085\u2028\u2029]/g;

/**
 * A text from outside as a terminal may show it: every kind of line break is one, and what would
 * move the cursor, colour the screen or turn the writing direction is written out (`\u001b`).
 */
export function plain(text: string): string {
  return text
    .replace(lineBreaks, "\n")
    .replace(controls, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .toWellFormed();
}

/** The first line that says something. */
export function firstLine(text: string): string {
  const line = plain(text)
    .split("\n")
    .find((each) => each.trim() !== "");
  return (line ?? "").replaceAll("\t", " ").trim();
}

/** The text on one line, its line breaks as spaces. */
export function oneLine(text: string): string {
  return plain(text).replace(/\s+/g, " ").trim();
}

/** The text, cut to a width in columns with an ellipsis at its end. */
export function cut(text: string, columns: number): string {
  if (Bun.stringWidth(text) <= columns) return text;
  // Made when it is needed: it brings in the Unicode tables.
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

/** `1 step`, `3 steps`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
