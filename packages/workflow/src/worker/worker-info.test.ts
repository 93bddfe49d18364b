import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DiskCall, faultyDisk, systemError } from "../../test/fixtures/faulty-disk.ts";
import { realSystem } from "../system/real.ts";
import { useSystem } from "../system/system.ts";
import { WorkerInfoFile, isAlive, readWorkerInfo } from "./worker-info.ts";

const identify = (pid: number) => realSystem.processes.identify(pid);
let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holder-test-"));
  path = join(folder, "a.holder");
});
afterEach(() => {
  useSystem(realSystem);
  rmSync(folder, { recursive: true, force: true });
});

test("a zombie process does not count as running", async () => {
  // The shell replaces itself by `tail`, which does not wait for the shell's child. The output shows the replacement.
  const script = 'sleep 60 & echo $! > "$0"; exec tail -f "$0"';
  const parent = Bun.spawn(["sh", "-c", script, join(folder, "pid")], { stdout: "pipe" });
  const { value } = await parent.stdout.getReader().read();
  const pid = Number.parseInt(new TextDecoder().decode(value), 10);
  const identity = identify(pid);
  expect(identity && isAlive(identity)).toBe(true);
  process.kill(pid, "SIGKILL");
  for (let tries = 0; identify(pid) !== null && tries < 500; tries += 1) await Bun.sleep(10);
  expect(identify(pid)).toBeNull();
  // The process still exists for its parent.
  expect(() => process.kill(pid, 0)).not.toThrow();
  parent.kill("SIGKILL");
  await parent.exited;
});

describe("the holder file", () => {
  test("names the lock holder and its threads", () => {
    const holder = new WorkerInfoFile(path);
    holder.note("A", true);
    holder.note("B", true);
    holder.note("A", false);
    holder.note("B", true);
    const found = readWorkerInfo(path);
    expect(found?.live).toEqual(["B"]);
    expect(found?.identity.pid).toBe(process.pid);
    expect(found && isAlive(found.identity)).toBe(true);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    holder.remove();
    expect(readWorkerInfo(path)).toBeNull();
  });

  test.each(["write", "rename"] as const)("leaves nothing when the disk fails at %s", (wanted) => {
    const before = (call: DiskCall) => {
      if (call === wanted) throw systemError("ENOSPC");
    };
    useSystem(faultyDisk({ before }).system);
    expect(() => new WorkerInfoFile(path)).toThrow("the disk is full");
    expect(readdirSync(folder)).toEqual([]);
  });

  test("replaces the file of a dead worker, and a symbolic link", () => {
    writeFileSync(join(folder, "target"), "precious");
    symlinkSync(join(folder, "target"), path);
    new WorkerInfoFile(path).note("A", true);
    expect(readWorkerInfo(path)?.live).toEqual(["A"]);
    expect(readFileSync(join(folder, "target"), "utf8")).toBe("precious");
  });

  for (const text of [
    "",
    "\n",
    "null\n",
    "{}\n",
    "no json\n",
    '{"pid":"1"}\n',
    '{"pid":-1}\n',
    "[]\n",
  ]) {
    test(`is ignored when it contains ${JSON.stringify(text)}`, () => {
      writeFileSync(path, text);
      const found = readWorkerInfo(path);
      expect(found === null || !isAlive(found.identity)).toBe(true);
    });
  }

  test("does not block when it is a FIFO", () => {
    Bun.spawnSync(["mkfifo", path]);
    expect(readWorkerInfo(path)).toBeNull();
  });

  test("is not followed when it is a symbolic link", () => {
    new WorkerInfoFile(join(folder, "target")).note("A", true);
    symlinkSync(join(folder, "target"), path);
    expect(readWorkerInfo(path)).toBeNull();
  });
});

describe("a process's identity", () => {
  test("differs from the identity of a later process with the same pid (F10)", () => {
    const own = identify(process.pid);
    if (!own) throw new Error("missing identity of this process");
    expect(isAlive(own)).toBe(true);
    expect(isAlive({ ...own, startTime: String(Number(own.startTime) - 1) })).toBe(false);
    expect(isAlive({ ...own, startTime: null })).toBe(false);
  });

  test.if(process.platform === "linux")(
    "differs from the identity of a process before a reboot",
    () => {
      const own = identify(process.pid);
      expect(own && isAlive({ ...own, bootId: "another" })).toBe(false);
    },
  );

  test("of an ended process is null", async () => {
    const child = Bun.spawn(["true"]);
    await child.exited;
    expect(identify(child.pid)).toBeNull();
  });
});
