import { readFileSync } from "node:fs";
import { extname, join, relative, resolve } from "node:path";
import { TextlintKernel } from "@textlint/kernel";
import markdown from "@textlint/textlint-plugin-markdown";
import { top } from "../test-files.ts";
import { rules } from "./rules.ts";
import { sourceText } from "./source-text.ts";

/*
 * Finds faults of prose in documents, comments and messages:
 *
 *     bun scripts/prose/check.ts                      # everything
 *     bun scripts/prose/check.ts docs packages/evals  # some folders
 *     bun scripts/prose/check.ts --count .            # counts by folder and kind
 */

const args = process.argv.slice(2);
const isCount = args.includes("--count");
const chosen = args
  .filter((arg) => !arg.startsWith("--"))
  .map((path) => relative(top, resolve(path)));

const plugins = [
  { pluginId: "markdown", plugin: markdown },
  { pluginId: "source", plugin: sourceText },
];

const isIn = (folder: string) => (path: string) => path === folder || path.startsWith(`${folder}/`);
const isChosen = (path: string): boolean =>
  chosen.length === 0 || chosen.some((one) => one === "" || isIn(one)(path));

const paths = [...new Bun.Glob("**/*.{ts,tsx,md}").scanSync({ cwd: top })]
  .filter((path) => !/(^|\/)(node_modules|dist|template|\.cache|api)\//.test(path))
  // The examples in this test are faults.
  .filter((path) => path !== "scripts/prose/rules.test.ts")
  .filter(isChosen)
  .sort();

const kernel = new TextlintKernel();
const counts = new Map<string, number>();
let found = 0;
for (const path of paths) {
  const text = readFileSync(join(top, path), "utf8");
  const options = { filePath: path, ext: extname(path), plugins, rules };
  const { messages } = await kernel.lintText(text, options);
  found += messages.length;
  for (const { loc, message, ruleId } of messages) {
    if (!isCount)
      console.log(`${path}:${loc.start.line}:${loc.start.column}: ${ruleId}: ${message}`);
    const folder = path.split("/", /^(packages|apps)\//.test(path) ? 2 : 1).join("/");
    for (const key of [folder, ruleId]) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
}
if (isCount)
  for (const [key, count] of [...counts].sort((a, b) => b[1] - a[1]))
    console.log(String(count).padStart(6), key);
if (found > 0) {
  console.log(`${found} found in ${paths.length} files`);
  process.exit(1);
}
