import { truncated } from "@uncaged/workflow";

const longestLine = 200;

/** A value in one line of at most 200 characters, for people. */
export function summary(value: unknown): string {
  const text = typeof value === "string" ? value : jsonOf(value);
  const line = text
    .slice(0, 4 * longestLine)
    .replace(/\s+/g, " ")
    .trim();
  return line.length > longestLine ? `${wholeCharacters(line.slice(0, longestLine - 1))}…` : line;
}

// Never between the halves of one character.
const wholeCharacters = (text: string): string =>
  text.isWellFormed() ? text : text.replace(/[\ud800-\udbff]$/, "");

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "";
  }
}

const longest = 10 * 1024;

/** A value for who cuts it himself: the whole as it is now, null when it has no JSON. */
export function whole(value: unknown): unknown {
  if (typeof value === "string") return value;
  try {
    const json: string | undefined = JSON.stringify(value);
    if (json === undefined) return null;
    return json.length > longest ? JSON.parse(json) : value;
  } catch {
    return null;
  }
}

/** A value as an event may hold it, null when it has no JSON. */
export function shown(value: unknown): unknown {
  try {
    return truncated(value) ?? null;
  } catch {
    return null;
  }
}
