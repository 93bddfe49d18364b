import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundlePath, type Report, reported, start, type Store } from "./store.ts";

/**
 * Load of a measurement: `together` concurrent threads of `count` steps each. With `weigh`, the report has the memory.
 */
export type Load = { together: number; count: number; weigh?: boolean };

const script = fileURLToPath(new URL("./baseline/loops.ts", import.meta.url));
const startedAtOnce = 20;

/** Runs threads in the store's worker and returns their report. */
export async function inWorker(store: Store, load: Load): Promise<Report> {
  const report = join(store.folder, `${crypto.randomUUID()}.json`);
  for (let left = load.together; left > 0; left -= startedAtOnce) {
    const some = Math.min(startedAtOnce, left);
    await Promise.all(Array.from({ length: some }, () => start(store, { ...load, report })));
  }
  return reported(report);
}

/** Runs the same number of bare loops in one process and returns their report. */
export async function inScript(store: Store, load: Load): Promise<Report> {
  const folder = mkdtempSync(join(store.folder, "bare-"));
  const report = join(folder, "report.json");
  const options = JSON.stringify({ ...load, report });
  const args = [script, bundlePath, folder, String(load.together), options];
  const child = Bun.spawn([process.execPath, ...args], { stdio: ["ignore", "inherit", "inherit"] });
  await child.exited;
  const found = await reported(report);
  rmSync(folder, { recursive: true });
  return found;
}
