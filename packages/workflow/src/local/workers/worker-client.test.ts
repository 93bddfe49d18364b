import { afterEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Root, workerInfoPath } from "../../disk/paths.ts";
import { realSystem } from "../../system/real.ts";
import { silentWorker } from "./worker-client.ts";

const hash = "0123456789ABC";
const folder = mkdtempSync(join(tmpdir(), "silent-"));
const root = folder as Root;
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Starts a process that never responds and records it as the worker of the hash. */
function holder(...notes: string[]) {
  const child = Bun.spawn(["sleep", "60"]);
  const path = workerInfoPath(root, hash);
  mkdirSync(dirname(path), { recursive: true });
  const identity = realSystem.processes.identify(child.pid);
  writeFileSync(path, [JSON.stringify(identity), ...notes, ""].join("\n"));
  return child;
}

test("a silent worker without a recorded thread is stuck in its bundle, and is killed", async () => {
  const child = holder();
  expect(silentWorker(root, hash).code).toBe("BUNDLE_LOAD_FAILED");
  await child.exited;
  expect(child.signalCode).toBe("SIGKILL");
});

test("a silent worker with a recorded thread is not killed", async () => {
  const child = holder("+01M8E692W0KTQ9W6VGYXT1DDGR");
  expect(silentWorker(root, hash).code).toBe("WORKER_SILENT");
  expect(child.exitCode).toBeNull();
  child.kill();
  await child.exited;
  expect(child.signalCode).toBe("SIGTERM");
});
