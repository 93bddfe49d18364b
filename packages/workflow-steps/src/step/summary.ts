import { truncated } from "@uncaged/workflow";

const longest = 200;

/** A value in one line of at most 200 characters, for people. */
export function summary(value: unknown): string {
  const text = typeof value === "string" ? value : jsonOf(value);
  const line = text
    .slice(0, 4 * longest)
    .replace(/\s+/g, " ")
    .trim();
  return line.length > longest ? `${wholeCharacters(line.slice(0, longest - 1))}…` : line;
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

/** A copy of a value, for who cuts it himself; null when it has no JSON. */
export function whole(value: unknown): unknown {
  if (typeof value === "string") return value;
  try {
    const json: string | undefined = JSON.stringify(value);
    return json === undefined ? null : JSON.parse(json);
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
