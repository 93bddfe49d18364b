import { afterEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Root, workerInfoPath } from "../storage/paths.ts";
import { realSystem } from "../system/real.ts";
import { useSystem } from "../system/system.ts";
import { silentWorker } from "./worker-client.ts";

const hash = "0123456789ABC";
const folder = mkdtempSync(join(tmpdir(), "silent-"));
const root = folder as Root;
afterEach(() => {
  useSystem(realSystem);
  rmSync(folder, { recursive: true, force: true });
});

/** A process that never answers, noted as the worker of the hash, and what became of it. */
function holder(...notes: string[]) {
  const child = Bun.spawn(["sleep", "60"]);
  const path = workerInfoPath(root, hash);
  mkdirSync(dirname(path), { recursive: true });
  const identity = realSystem.processes.identify(child.pid);
  writeFileSync(path, [JSON.stringify(identity), ...notes, ""].join("\n"));
  return child;
}

test("a silent worker that has begun nothing is stuck in its bundle, and is ended", async () => {
  const child = holder();
  expect(silentWorker(root, hash).code).toBe("BUNDLE_LOAD_FAILED");
  await child.exited;
  expect(child.signalCode).toBe("SIGKILL");
});

test("one that has begun a thread goes on, and so does one that a disk keeps from beginning", async () => {
  for (const waits of [false, true]) {
    const processes = { ...realSystem.processes, waitsForDisk: () => waits };
    useSystem({ ...realSystem, processes });
    const child = holder(...(waits ? [] : ["+01M8E692W0KTQ9W6VGYXT1DDGR"]));
    const { code, message, hint } = silentWorker(root, hash);
    expect([code, `${message} ${hint}`.includes("disk")]).toEqual(["WORKER_SILENT", waits]);
    expect(child.exitCode).toBeNull();
    child.kill();
    await child.exited;
    expect(child.signalCode).toBe("SIGTERM");
  }
});
