import * as z from "zod/mini";
import { readConfined, readText, textIn } from "./file.ts";
import { tool } from "./tools.ts";
import { callOf, changedBefore, changeFile } from "./undo.ts";
import { sameTexts, textMissing, textRepeated } from "./errors.ts";

const mostLines = 2000;
const mostCharacters = 80_000;

/** Reads a text file, or some of its lines. */
export const readFile = tool({
  name: "readFile",
  description: `Reads a text file of the working directory: ${mostLines} lines from line \`offset\` (1 is the first), or \`limit\` lines.`,
  input: z.object({
    path: z.string().check(z.minLength(1)),
    offset: z.optional(z.int().check(z.minimum(1))),
    limit: z.optional(z.int().check(z.minimum(1))),
  }),
  async execute({ path, offset = 1, limit = mostLines }, { cwd }) {
    const { text } = await readText(cwd, path);
    const lines = text.split("\n");
    const total = text.endsWith("\n") ? lines.length - 1 : lines.length;
    if (offset > Math.max(total, 1)) return `[the file has ${total} lines]`;
    const end = Math.min(offset - 1 + fitting(lines, offset - 1, limit), total);
    if (offset === 1 && end === total) return text;
    const shown = lines
      .slice(offset - 1, end)
      .join("\n")
      .slice(0, mostCharacters);
    const more = end < total ? `; continue with offset ${end + 1}` : "";
    return `${shown}\n[lines ${offset} to ${end} of ${total}${more}]`;
  },
});

// Returns the number of lines within the maximum length. The first line is always included, whatever its length.
function fitting(lines: readonly string[], from: number, limit: number): number {
  let length = 0;
  for (let count = 0; count < limit; count++) {
    length += (lines[from + count]?.length ?? 0) + 1;
    if (length > mostCharacters && count > 0) return count;
  }
  return limit;
}

/** Writes a complete text file. */
export const writeFile = tool({
  name: "writeFile",
  description:
    "Writes a complete text file in the working directory, and replaces an existing file. Creates missing folders.",
  input: z.object({ path: z.string().check(z.minLength(1)), content: z.string() }),
  async execute({ path, content }, execution) {
    const call = callOf(execution, "writeFile", path, content);
    const there = await readConfined(execution.cwd, path).catch(() => null);
    const earlier = there && (await changedBefore(execution, { ...there, call }));
    const done = earlier
      ? { name: earlier.path, created: earlier.before === null, undoId: earlier.undoId }
      : await changeFile(execution, { path, content, call });
    const { name, created, undoId } = done;
    const result = `${created ? "created" : "replaced"} ${name}`;
    return { result, path: name, created, bytes: Buffer.byteLength(content), undoId };
  },
});

/** Replaces text in a file that matches exactly. */
export const editFile = tool({
  name: "editFile",
  description:
    "Replaces `oldText` in a text file of the working directory by `newText`. `oldText` must match exactly, including spaces, and only once unless `all` is true. The file's line ends are kept.",
  input: z.object({
    path: z.string().check(z.minLength(1)),
    oldText: z.string().check(z.minLength(1)),
    newText: z.string(),
    all: z.optional(z.boolean()),
  }),
  async execute({ path, oldText, newText, all = false }, execution) {
    if (oldText === newText) throw sameTexts(path);
    const { place, text: now } = await readText(execution.cwd, path);
    const call = callOf(execution, "editFile", path, oldText, newText, all);
    const earlier = await changedBefore(execution, { place, bytes: Buffer.from(now), call });
    const text = earlier?.before ? textIn(earlier.before) : now;
    const anyEnds = textPattern(oldText);
    const pieces = text.split(anyEnds);
    const places = pieces.length - 1;
    if (places === 0) {
      throw textMissing(place.name);
    }
    if (places > 1 && !all) {
      throw textRepeated(place.name, places, linesOf(pieces, oldText));
    }
    const isOfEnds = unixLines(oldText) === unixLines(newText);
    const after = text.replace(anyEnds, (found) =>
      isOfEnds ? newText : withEnds(newText, endOf(found) ?? endOf(text)),
    );
    if (after === text) throw sameTexts(path);
    const { undoId } = earlier ?? (await changeFile(execution, { path, content: after, call }));
    const times = places === 1 ? "" : ` in ${places} places`;
    const diff = diffOf(place.name, text, after);
    return { result: `changed ${place.name}${times}`, path: place.name, places, diff, undoId };
  },
});

const unixLines = (text: string): string => text.replaceAll("\r\n", "\n");

/** Returns a pattern for a text with any line ends. */
function textPattern(text: string): RegExp {
  const escaped = unixLines(text)
    .split("\n")
    .map((line) => line.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  return new RegExp(escaped.join("\\r?\\n"), "g");
}

/** Returns the most frequent line end of a text, or null for a single line. */
function endOf(text: string): "\r\n" | "\n" | null {
  const all = text.split("\n").length - 1;
  const windows = text.split("\r\n").length - 1;
  if (all === 0) return null;
  return windows > all / 2 ? "\r\n" : "\n";
}

const withEnds = (text: string, end: string | null): string =>
  end === null ? text : unixLines(text).replaceAll("\n", end);

const around = 3;

/** Returns the change of a text as a unified diff with one hunk, from the first to the last changed line. */
function diffOf(name: string, before: string, after: string): string {
  const [old, changed] = [before.split("\n"), after.split("\n")];
  const shorter = Math.min(old.length, changed.length);
  let first = 0;
  while (first < shorter && old[first] === changed[first]) first += 1;
  let last = 0;
  while (last < shorter - first && old.at(-1 - last) === changed.at(-1 - last)) last += 1;
  const from = Math.max(0, first - around);
  const to = Math.max(0, last - around);
  const range = (lines: string[]) => `${from + 1},${lines.length - to - from}`;
  const marked = (mark: string, lines: string[]) => lines.map((line) => mark + line);
  return [
    `--- a/${name}`,
    `+++ b/${name}`,
    `@@ -${range(old)} +${range(changed)} @@`,
    ...marked(" ", old.slice(from, first)),
    ...marked("-", old.slice(first, old.length - last)),
    ...marked("+", changed.slice(first, changed.length - last)),
    ...marked(" ", old.slice(old.length - last, old.length - to)),
  ].join("\n");
}

function linesOf(pieces: readonly string[], text: string): string {
  const breaks = (piece: string) => piece.split("\n").length - 1;
  const lines: number[] = [];
  let line = 1;
  for (const piece of pieces.slice(0, Math.min(pieces.length - 1, 10))) {
    line += breaks(piece);
    lines.push(line);
    line += breaks(text);
  }
  return `lines ${lines.join(", ")}${pieces.length > 11 ? "…" : ""}`;
}
