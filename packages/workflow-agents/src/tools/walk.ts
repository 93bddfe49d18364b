import { readdir, realpath } from "node:fs/promises";
import { join, relative } from "node:path";
import ignore, { type Ignore } from "ignore";
import { readText } from "./file.ts";
import { isInside, nullIfMissing, type Place, pathError } from "./inside.ts";

const alwaysLeftOut = new Set([".git", "node_modules"]);

/** A file or folder below a place; `name` is its path as seen from the thread's directory. */
export type Found = { name: string; isFolder: boolean };

/**
 * Everything below a folder, folders before what they hold, by name. Leaves out `.git`,
 * `node_modules` and what a `.gitignore` names; follows no link.
 */
export async function* walk({ root, path }: Place): AsyncGenerator<Found> {
  yield* walkFolder(root, path, []);
}

type Rules = { folder: string; rules: Ignore };

async function* walkFolder(root: string, folder: string, above: Rules[]): AsyncGenerator<Found> {
  // A folder that became a link while others were read leads nowhere.
  const real = await realpath(folder).catch(nullIfMissing);
  if (real !== folder || !isInside(root, real)) return;
  const entries = await readdir(folder, { withFileTypes: true });
  const own = entries.some(({ name }) => name === ".gitignore") ? await rulesIn(root, folder) : [];
  const rules = [...above, ...own];
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    if (alwaysLeftOut.has(entry.name)) continue;
    const isFolder = entry.isDirectory();
    const path = join(folder, entry.name);
    if (isIgnored(rules, path, isFolder)) continue;
    if (isFolder || entry.isFile()) yield { name: relative(root, path), isFolder };
    if (isFolder) yield* walkFolder(root, path, rules);
  }
}

async function rulesIn(root: string, folder: string): Promise<Rules[]> {
  const file = join(relative(root, folder), ".gitignore");
  const read = await readText(root, file).catch(() => null);
  return read ? [{ folder, rules: ignore().add(read.text) }] : [];
}

// The deepest rule that says anything of a path decides.
function isIgnored(all: readonly Rules[], path: string, isFolder: boolean): boolean {
  let ignored = false;
  for (const { folder, rules } of all) {
    const verdict = rules.test(relative(folder, path) + (isFolder ? "/" : ""));
    ignored = verdict.ignored || (ignored && !verdict.unignored);
  }
  return ignored;
}

/**
 * A test for file patterns: `*.ts` matches in every folder, `src/**` from the thread's directory on;
 * `{a,b}` is either.
 */
export function matcher(pattern: string): (name: string) => boolean {
  if (pattern.length > 1000) throw pathError("BAD_PATTERN", pattern, "is too long a pattern", "");
  const rules = ignore({ ignorecase: false }).add(eitherOf(pattern));
  return (name) => rules.ignores(name);
}

const mostPatterns = 200;

/** `a.{b,c}` as `a.b` and `a.c`. */
function eitherOf(pattern: string): string[] {
  let patterns = [pattern];
  for (;;) {
    const next = patterns.flatMap((one) => {
      const braces = /\{([^{}]*,[^{}]*)\}/.exec(one);
      if (!braces) return [one];
      const [whole, inner = ""] = braces;
      const [head, tail] = [one.slice(0, braces.index), one.slice(braces.index + whole.length)];
      return inner.split(",").map((part) => head + part + tail);
    });
    if (next.length === patterns.length || next.length > mostPatterns) return patterns;
    patterns = next;
  }
}
