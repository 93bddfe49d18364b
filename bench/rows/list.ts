import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { dataPath, infoPath, logsDir, threadsDir } from "../../packages/workflow/src/disk/paths.ts";
import { inTurn, timed } from "../measure.ts";
import { line, type Row } from "../row.ts";
import { endedLog, makeStore, type Store, threadIdOf } from "../store.ts";

const count = 100_000;
const limit = 20;
const mostBuildMs = 300_000;

export const list: Row = {
  name: "list",
  about:
    "The first page of the list of threads, from the index that a server keeps. The floor lists the folders of the logs.",
  async measure({ folder }) {
    const store = await makeStore(folder);
    fill(store);
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

/** Writes small ended threads. The newest have a larger step. */
function fill({ root, hash }: Store): void {
  mkdirSync(threadsDir(root, hash), { recursive: true });
  for (let n = 1; n <= count; n += 1) {
    const threadId = threadIdOf(n);
    const text = endedLog(hash, threadId, n > count - 2 * limit ? 1000 : 10);
    writeFileSync(dataPath(root, hash, threadId), text, { flag: "wx", mode: 0o600 });
    writeFileSync(infoPath(root, hash, threadId), "", { flag: "wx", mode: 0o600 });
  }
}
