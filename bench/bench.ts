import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { benchIn } from "./command.ts";
import { machineOf } from "./machine.ts";
import { pageOf, type Result, tableOf } from "./page.ts";
import type { Line } from "./row.ts";
import { rows } from "./rows/rows.ts";

/*
 * Measures rows and their floors: `bun run bench`, described in docs/explanation/performance.md. The exit code is 1
 * when a measurement fails; a missed target does not change it.
 */
const { values } = parseArgs({
  options: {
    only: { type: "string", multiple: true },
    markdown: { type: "boolean", default: false },
    json: { type: "string" },
  },
});
const names = rows.map(({ name }) => name);
const chosen = values.only ?? names;
const unknown = chosen.find((name) => !names.includes(name));
if (unknown !== undefined) {
  console.error(`unknown row "${unknown}"; choose from ${names.join(", ")}`);
  process.exit(2);
}

const pathOf = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const cache = pathOf(".cache");
mkdirSync(cache, { recursive: true });
const folder = mkdtempSync(join(cache, "bench-"));
const lines: Line[] = [];
const failed: { row: string; reason: string }[] = [];
try {
  const bench = benchIn(folder);
  const machine = machineOf(folder);
  for (const row of rows.filter(({ name }) => chosen.includes(name))) {
    console.error(`${row.name}…`);
    try {
      lines.push(...(await row.measure(bench)));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      console.error(`${row.name}: not measured: ${reason}`);
      failed.push({ row: row.name, reason });
    }
  }
  const date = new Date().toISOString().slice(0, 10);
  const result: Result = { date, version: version(), machine, lines, failed };
  console.log(tableOf(lines));
  if (values.json) writeFileSync(values.json, `${JSON.stringify(result, null, 2)}\n`);
  if (values.markdown) writeFileSync(pathOf("docs/explanation/performance.md"), pageOf(result));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exit(failed.length === 0 ? 0 : 1);

/** Returns the version of the command, with its commit if known. */
function version(): string {
  const manifest = readFileSync(pathOf("packages/cli-workflow/package.json"), "utf8");
  const { version: number } = JSON.parse(manifest) as { version: string };
  const git = Bun.spawnSync(["git", "rev-parse", "--short", "HEAD"], { cwd: pathOf(".") });
  return git.success ? `${number} (${git.stdout.toString().trim()})` : number;
}
