import { readdirSync } from "node:fs";
import { join } from "node:path";
import { logsDir } from "../../packages/workflow/src/disk/paths.ts";
import { inTurn, timed } from "../measure.ts";
import { line, type Row } from "../row.ts";
import { fillStore, makeStore, type Store } from "../store.ts";

const count = 100_000;
const limit = 20;
const mostBuildMs = 300_000;

/**
 * The first page of the list of threads, from the index that a server keeps. The floor lists the folders of the logs.
 */
export const list: Row = {
  name: "list",
  async measure({ folder }) {
    const store = await makeStore(folder);
    fillStore(store, count);
    const page = () => timed(() => store.host.threads({ limit }));
    await untilIndexed(page);
    const samples = await inTurn(15, () => timed(() => readFolders(store)), page);
    const texts = { what: "newest 20 of 100,000 threads, in the server", unit: "ms" };
    return [line({ ...texts, floorIs: "listing the folders", target: { most: 5 } }, samples)];
  },
};

/** Waits until the background index is complete. Pages then read no thread folders. */
async function untilIndexed(page: () => Promise<number>): Promise<void> {
  const until = performance.now() + mostBuildMs;
  while (performance.now() < until) {
    if ((await page()) < 10) return;
    await Bun.sleep(500);
  }
  throw new Error("the index of the threads was not built in time");
}

function readFolders({ root }: Store): void {
  for (const hash of readdirSync(logsDir(root))) readdirSync(join(logsDir(root), hash));
}
