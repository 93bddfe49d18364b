import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dataPath, logsDir, type Root, threadsDir } from "./paths.ts";
import { openRoot } from "./root.ts";
import { watchLogs } from "./watch-logs.ts";

const ref = { hash: "EYHPV6X8XHTCS", threadId: "01ARZ3NDEKTSV4RRFFQ69G5FAV" };
let root: Root;
let reported: string[];
let watch: ReturnType<typeof watchLogs>;

beforeEach(() => {
  root = openRoot({ path: mkdtempSync(join(tmpdir(), "store-watch-")) });
  reported = [];
});

afterEach(() => {
  watch.close();
  rmSync(root, { recursive: true, force: true });
});

const open = () => {
  watch = watchLogs(root, ({ threadId }) => reported.push(threadId));
};

/** Writes a file again and again until something is reported: a folder is watched some moments later. */
async function writeUntilTold(path: string): Promise<void> {
  mkdirSync(threadsDir(root, ref.hash), { recursive: true });
  for (let tries = 0; tries < 400 && reported.length === 0; tries += 1) {
    watch.ensure();
    writeFileSync(path, `${tries}\n`);
    await Bun.sleep(10);
  }
}

test("it reports a thread whose log has changed, also in a folder that came since", async () => {
  open();
  await writeUntilTold(dataPath(root, ref.hash, ref.threadId));
  expect(reported[0]).toBe(ref.threadId);
});

test("a folder of logs that can't be listed stops nothing, and is watched when it can be", async () => {
  const logs = logsDir(root);
  rmSync(logs, { recursive: true, force: true });
  symlinkSync(logs, logs);
  open();
  watch.ensure();
  rmSync(logs);
  await writeUntilTold(dataPath(root, ref.hash, ref.threadId));
  expect(reported[0]).toBe(ref.threadId);
});
