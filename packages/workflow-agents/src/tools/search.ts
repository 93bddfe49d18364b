import { readdir, realpath, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import { setImmediate } from "node:timers/promises";
import ignore, { type Ignore } from "ignore";
import * as z from "zod/mini";
import { readText } from "./file.ts";
import { type ConfinedPath, confinedPath, isInside, nullIfMissing } from "./path.ts";
import { tool } from "./tools.ts";
import {
  invalidExpression,
  missingFile,
  notFolder,
  patternTooLong,
  searchTooSlow,
} from "./errors.ts";

const mostLines = 200;
const longestLine = 300;
const slowLineMs = 150;

/** Finds lines by a regular expression or plain text. */
export const search = tool({
  name: "search",
  description: `Finds lines in the text files of the working directory by a JavaScript regular expression, or by plain text if \`plain\` is true: at most ${mostLines} lines, as path:line: text. \`path\` is a folder or a file, and \`files\` a pattern for file names (\`*.ts\`, \`src/**\`). Leaves out .git, node_modules and paths in a .gitignore.`,
  input: z.object({
    pattern: z.string().check(z.minLength(1), z.maxLength(1000)),
    plain: z.optional(z.boolean()),
    ignoreCase: z.optional(z.boolean()),
    path: z.optional(z.string()),
    files: z.optional(z.string().check(z.minLength(1))),
  }),
  async execute({ pattern, plain = false, ignoreCase = false, path = ".", files }, runtime) {
    const { cwd, signal } = runtime;
    const expression = expressionOf(pattern, plain, ignoreCase ? "i" : "");
    const found: string[] = [];
    const { place, isFolder } = await startingAt(cwd, path);
    for await (const name of isFolder ? filesBelow(place, files) : [place.name]) {
      signal.throwIfAborted();
      const read = await readText(place.root, name).catch(() => null);
      // Many reads of small files would block the event loop.
      await setImmediate();
      addLines(found, name, read?.text ?? "", expression);
      if (found.length > mostLines) break;
    }
    const more = "[more lines found: choose a folder, a file pattern or a narrower search]";
    return listed(found, mostLines, more) || "[nothing found]";
  },
});

function listed(lines: readonly string[], most: number, more: string): string {
  return (lines.length > most ? [...lines.slice(0, most), more] : lines).join("\n");
}

async function startingAt(
  cwd: string,
  path: string,
): Promise<{ place: ConfinedPath; isFolder: boolean }> {
  const place = await confinedPath(cwd, path);
  const stats = await stat(place.path).catch(nullIfMissing);
  if (stats) return { place, isFolder: stats.isDirectory() };
  throw missingFile(place.name);
}

async function* filesBelow(place: ConfinedPath, pattern?: string): AsyncGenerator<string> {
  const matches = pattern === undefined ? () => true : matcher(pattern);
  for await (const { name, isFolder } of walk(place)) if (!isFolder && matches(name)) yield name;
}

function addLines(found: string[], name: string, text: string, expression: RegExp): void {
  for (const [at, line] of text.split("\n").entries()) {
    const number = at + 1;
    const { isHit, isSlow } = timed(expression, line);
    // Measures twice, because a busy machine may be slow once. JavaScriptCore stops a slow match after some time and
    // reports that the line does not match.
    if (isSlow && timed(expression, line).isSlow) {
      throw searchTooSlow(`${name}:${number}`);
    }
    if (!isHit) continue;
    const shown = line.length > longestLine ? `${line.slice(0, longestLine)}…` : line;
    found.push(`${name}:${number}: ${shown.trimEnd()}`);
    if (found.length > mostLines) return;
  }
}

function timed(expression: RegExp, line: string): { isHit: boolean; isSlow: boolean } {
  const before = performance.now();
  const isHit = expression.test(line);
  return { isHit, isSlow: performance.now() - before > slowLineMs };
}

function expressionOf(pattern: string, plain: boolean, flags: string): RegExp {
  if (plain) return new RegExp(pattern.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), flags);
  try {
    return new RegExp(pattern, `u${flags}`);
  } catch {}
  try {
    // Without the flag `u`, an unknown escape means the character itself, as many users expect.
    return new RegExp(pattern, flags);
  } catch (error) {
    throw invalidExpression(String(error).slice(0, 300));
  }
}

const mostFiles = 1000;

/** Lists files and folders that Git does not ignore. */
export const listFiles = tool({
  name: "listFiles",
  description: `Lists the files of the working directory, or of the folder \`path\` in it, with all subfolders: at most ${mostFiles}. \`pattern\` selects files (\`*.ts\`, \`src/**\`). Leaves out .git, node_modules and paths in a .gitignore.`,
  input: z.object({
    path: z.optional(z.string()),
    pattern: z.optional(z.string().check(z.minLength(1))),
  }),
  async execute({ path = ".", pattern }, { cwd, signal }) {
    const { place, isFolder: isRoot } = await startingAt(cwd, path);
    if (!isRoot) throw notFolder(path);
    const matches = pattern === undefined ? null : matcher(pattern);
    const lines: string[] = [];
    for await (const { name, isFolder } of walk(place)) {
      if (matches && (isFolder || !matches(name))) continue;
      signal.throwIfAborted();
      lines.push(isFolder ? `${name}/` : name);
      if (lines.length > mostFiles) break;
    }
    const more = "[more files found: choose a folder or a pattern]";
    return listed(lines, mostFiles, more) || "[no files]";
  },
});

const alwaysLeftOut = new Set([".git", "node_modules"]);

type Rules = { folder: string; rules: Ignore };

/**
 * Yields the files and folders below a folder, sorted by name, each folder before its content. Does not follow links.
 */
async function* walk(
  { root, path: folder }: Omit<ConfinedPath, "name">,
  above: readonly Rules[] = [],
): AsyncGenerator<{ name: string; isFolder: boolean }> {
  // Another process may have replaced the folder by a link, which must not be followed.
  const real = await realpath(folder).catch(nullIfMissing);
  if (real !== folder || !isInside(root, real)) return;
  const entries = await readdir(folder, { withFileTypes: true });
  const hasRules = entries.some(({ name }) => name === ".gitignore");
  const own = hasRules && (await readText(folder, ".gitignore").catch(() => null));
  const rules = own ? [...above, { folder, rules: ignore().add(own.text) }] : above;
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    if (alwaysLeftOut.has(entry.name)) continue;
    const isFolder = entry.isDirectory();
    const path = join(folder, entry.name);
    if (isIgnored(rules, path, isFolder)) continue;
    if (isFolder || entry.isFile()) yield { name: relative(root, path), isFolder };
    if (isFolder) yield* walk({ root, path }, rules);
  }
}

// The rules of the deepest `.gitignore` decide.
function isIgnored(all: readonly Rules[], path: string, isFolder: boolean): boolean {
  let ignored = false;
  for (const { folder, rules } of all) {
    const verdict = rules.test(relative(folder, path) + (isFolder ? "/" : ""));
    ignored = verdict.ignored || (ignored && !verdict.unignored);
  }
  return ignored;
}

/**
 * Returns a function that matches file names. `*.ts` matches in every folder, `src/**` from the thread's directory on,
 * and `{a,b}` matches `a` or `b`.
 */
function matcher(pattern: string): (name: string) => boolean {
  if (pattern.length > 1000) throw patternTooLong(pattern);
  const rules = ignore({ ignorecase: false }).add(eitherOf(pattern));
  return (name) => rules.ignores(name);
}

const mostPatterns = 200;

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
