import { readDocument } from "@uncaged/workflow/document";
import { notAnObject } from "./errors.ts";

type Entries = Record<string, unknown>;

const isObject = (value: unknown): value is Entries =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Returns the text of a JSON object with additional entries, with the same indentation. If an entry is an existing
 * object, adds its missing keys. Keeps all other text.
 * @throws WorkflowError `DOCUMENT_INVALID` with file, line and column.
 */
export function withEntries(text: string, file: string, entries: Entries): string {
  const { document } = readDocument(text, file);
  if (!isObject(document)) throw notAnObject(file);
  const [, indent = "  "] = /\n([ \t]+)\S/.exec(text) ?? [];
  return jsonText(merged(document, entries), indent);
}

export const jsonText = (value: unknown, indent = "  "): string =>
  `${JSON.stringify(value, null, indent)}\n`;

function merged(old: Entries, more: Entries): Entries {
  const result = { ...old };
  for (const [key, value] of Object.entries(more)) {
    const before = result[key];
    if (before === undefined) result[key] = value;
    else if (isObject(before) && isObject(value)) result[key] = merged(before, value);
  }
  return result;
}

/** Adds missing lines to a text. */
export function withLines(text: string, lines: string): string {
  const there = new Set(text.split(/\r?\n/).map((line) => line.trim()));
  const missing = lines.split("\n").filter((line) => line !== "" && !there.has(line));
  if (missing.length === 0) return text;
  const before = text === "" || text.endsWith("\n") ? text : `${text}\n`;
  return `${before}${missing.join("\n")}\n`;
}
