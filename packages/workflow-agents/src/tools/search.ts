import { stat } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import { WorkflowError } from "@uncaged/workflow";
import * as z from "zod/mini";
import { readText } from "./file.ts";
import { nullIfMissing, type Place, pathError, placeInside } from "./inside.ts";
import { tool } from "./tools.ts";
import { matcher, walk } from "./walk.ts";

const mostLines = 200;
const longestLine = 300;
const slowLineMs = 150;

type LineTest = (line: string) => boolean;

/** Finds lines by a regular expression or a plain text. */
export const search = tool({
  name: "search",
  description: `Finds lines in the text files of the working directory by a regular expression (JavaScript's), or by a plain text when \`plain\` is true: ${mostLines} lines at most, as path:line: text. \`path\` is a folder or a file, \`files\` a pattern of file names (\`*.ts\`, \`src/**\`). Leaves out .git, node_modules and what a .gitignore names.`,
  input: z.object({
    pattern: z.string().check(z.minLength(1), z.maxLength(1000)),
    plain: z.optional(z.boolean()),
    ignoreCase: z.optional(z.boolean()),
    path: z.optional(z.string()),
    files: z.optional(z.string().check(z.minLength(1))),
  }),
  async execute({ pattern, plain = false, ignoreCase = false, path = ".", files }, runtime) {
    const { cwd, signal } = runtime;
    const test = plain ? plainTest(pattern, ignoreCase) : regularTest(pattern, ignoreCase);
    const place = await placeInside(cwd, path);
    const found: string[] = [];
    for await (const name of filesIn(place, files)) {
      signal.throwIfAborted();
      const text = await textOrNothing(place.root, name);
      // Reading small files may give the process no turn for anything else.
      await setImmediate();
      addLines(found, name, text, test);
      if (found.length > mostLines) break;
    }
    if (found.length === 0) return "[nothing found]";
    const more = "[and more: choose a folder, a file pattern or a narrower search]";
    return [...found.slice(0, mostLines), ...(found.length > mostLines ? [more] : [])].join("\n");
  },
});

async function* filesIn(place: Place, pattern: string | undefined): AsyncGenerator<string> {
  const stats = await stat(place.path).catch(nullIfMissing);
  if (!stats) throw pathError("FILE_MISSING", place.name, "is not there");
  const matches = pattern === undefined ? () => true : matcher(pattern);
  if (!stats.isDirectory()) return yield place.name;
  for await (const { name, isFolder } of walk(place)) if (!isFolder && matches(name)) yield name;
}

async function textOrNothing(root: string, name: string): Promise<string> {
  const read = await readText(root, name).catch(() => null);
  return read?.text ?? "";
}

function addLines(found: string[], name: string, text: string, test: LineTest): void {
  let number = 0;
  for (const line of text.split("\n")) {
    number += 1;
    const before = performance.now();
    const isHit = test(line);
    // A busy machine may be slow once.
    if (performance.now() - before > slowLineMs && isSlow(test, line)) throw tooSlow(name, number);
    if (!isHit) continue;
    const shown = line.length > longestLine ? `${line.slice(0, longestLine)}…` : line;
    found.push(`${name}:${number}: ${shown.trimEnd()}`);
    if (found.length > mostLines) return;
  }
}

function isSlow(test: LineTest, line: string): boolean {
  const before = performance.now();
  test(line);
  return performance.now() - before > slowLineMs;
}

function plainTest(text: string, ignoreCase: boolean): LineTest {
  if (!ignoreCase) return (line) => line.includes(text);
  const lower = text.toLowerCase();
  return (line) => line.toLowerCase().includes(lower);
}

function regularTest(pattern: string, ignoreCase: boolean): LineTest {
  try {
    const expression = new RegExp(pattern, ignoreCase ? "iu" : "u");
    return (line) => expression.test(line);
  } catch {}
  try {
    // Without the flag u, an escape that means nothing is the character itself, as people write it.
    const expression = new RegExp(pattern, ignoreCase ? "i" : "");
    return (line) => expression.test(line);
  } catch (error) {
    const message = `the regular expression is wrong: ${String(error).slice(0, 300)}`;
    throw searchError(message, "mend it, or set plain to true");
  }
}

// JavaScriptCore gives up on such an expression after a while and says "no match".
const tooSlow = (name: string, line: number): WorkflowError =>
  searchError(
    `the regular expression takes too long at ${name}:${line}`,
    "write it without nested repetitions such as (a+)+, or set plain to true",
  );

const searchError = (message: string, hint: string): WorkflowError =>
  new WorkflowError({ code: "SEARCH_FAILED", kind: "failed", message, hint });
