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

/** Writes a file repeatedly until a change is reported, because watching a folder starts with a delay. */
async function writeUntilReported(path: string): Promise<void> {
  mkdirSync(threadsDir(root, ref.hash), { recursive: true });
  for (let tries = 0; tries < 400 && reported.length === 0; tries += 1) {
    watch.ensure();
    writeFileSync(path, `${tries}\n`);
    await Bun.sleep(10);
  }
}

test("a changed log is reported, even in a new folder", async () => {
  open();
  await writeUntilReported(dataPath(root, ref.hash, ref.threadId));
  expect(reported[0]).toBe(ref.threadId);
});

test("an unreadable folder of logs is skipped, and watched once it is readable", async () => {
  const logs = logsDir(root);
  rmSync(logs, { recursive: true, force: true });
  symlinkSync(logs, logs);
  open();
  watch.ensure();
  rmSync(logs);
  await writeUntilReported(dataPath(root, ref.hash, ref.threadId));
  expect(reported[0]).toBe(ref.threadId);
});
