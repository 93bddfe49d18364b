import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readlinkSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { programWords } from "./command.ts";
import { ended, playBundle, playStore, removeFolders, Store, untilNoWorker } from "./program.ts";
import { some } from "../../workflow/test/fixtures/cases.ts";

setDefaultTimeout(180_000);
afterAll(removeFolders);

const denied = join(import.meta.dir, "denied.ts");
const noFilter = (() => {
  if (process.platform !== "linux") return "only Linux has seccomp";
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, denied, "5", "flock", "true"]);
  return exitCode === 0 ? null : stderr.toString().trim();
})();

/** Runs the program with failing system calls in all of its processes. */
async function runWithout(store: Store, error: string, calls: string, args: string[]) {
  const errno = String(constants.errno[error as keyof typeof constants.errno]);
  const child = Bun.spawn([process.execPath, denied, errno, calls, ...programWords, ...args], {
    cwd: store.folder,
    env: store.env,
    stdout: "pipe",
    stderr: "pipe",
  });
  return await ended(child);
}

const oneLine = (about: RegExp) => ({
  code: 1,
  stdout: "",
  stderr: expect.stringMatching(
    new RegExp(`^error: [^\\n]*${about.source}[^\\n]*; hint: [^\\n]+\\n$`),
  ),
});

if (noFilter !== null) test.skip(`failing system calls: skipped, ${noFilter}`, () => {});
else {
  describe("a file system without locks", () => {
    test.each(some(["ENOLCK", "EOPNOTSUPP", "ENOSYS"]))(
      "(%s) is the error of commands that need a lock, and nothing is written",
      async (error) => {
        const store = new Store();
        const added = await runWithout(store, error, "flock", ["add", "play", playBundle]);
        expect(added).toEqual(oneLine(/its file system does not support locks/));
        await store.ok(["add", "play", playBundle]);
        const before = filesOf(store);
        for (const args of [
          ["run", "play"],
          ["run", "play", "--thread-id", "01ARZ3NDEKTSV4RRFFQ69G5FAV"],
          ["add", "other", playBundle],
          ["remove", "play"],
        ]) {
          expect({ args, ...(await runWithout(store, error, "flock", args)) }).toEqual({
            args,
            ...oneLine(/its file system does not support locks/),
          });
        }
        expect(filesOf(store)).toEqual(before);
        expect((await runWithout(store, error, "flock", ["list"])).code).toBe(0);
        expect(await runWithout(store, error, "flock", ["doctor"])).toMatchObject({
          code: 1,
          stdout: expect.stringMatching(
            /^can't lock [^\n]* does not support locks [^\n]*; put the [^\n]*\n$/,
          ),
        });
      },
    );
  });

  describe("a disk whose every sync fails (F6)", () => {
    test("starts nothing, registers nothing, and keeps the existing files", async () => {
      const store = await playStore();
      const before = filesOf(store);
      const other = join(store.folder, "other.esm.js");
      await Bun.write(other, `${await Bun.file(playBundle).text()}\n// another`);
      for (const args of [
        ["run", "play"],
        ["add", "other", other],
        ["remove", "play"],
      ]) {
        expect({ args, ...(await runWithout(store, "EIO", "fsync,fdatasync", args)) }).toEqual({
          args,
          ...oneLine(/the disk reported an error/),
        });
      }
      expect(filesOf(store)).toEqual(before);
    });

    test("interrupts a thread before its next step, which runs once the disk works", async () => {
      const store = await playStore();
      const id = await store.play({ ask: 2, steps: 4 });
      const view = await store.until<{ status: string; steps: object[] }>(id, "waiting");
      const answer = ["resume", id, "--input", "yes"];
      await untilNoWorker(store.root);
      const refused = await runWithout(store, "EIO", "fsync,fdatasync", answer);
      expect(refused).toEqual(oneLine(/the disk reported an error/));
      expect(await store.json<object>(["thread", id])).toMatchObject({ steps: view.steps });
      await untilNoWorker(store.root);
      await store.ok([...answer, "--wait"]);
      expect(await store.json<object>(["thread", id])).toMatchObject({ status: "completed" });
      expect((await store.run(["verify"])).code).toBe(0);
    });
  });
}

const canUnshare =
  Bun.which("unshare") !== null &&
  Bun.spawnSync(["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "true"]).exitCode ===
    0;

test.if(canUnshare)(
  "a worker in another pid namespace is used, and the process with its pid here is not killed (F10)",
  async () => {
    const store = await playStore();
    const apart = [
      "unshare",
      "--pid",
      "--fork",
      "--kill-child",
      "--mount-proc",
      "sh",
      "-c",
      '"$@"; exec sleep 600 >/dev/null 2>&1',
      "sh",
    ];
    const params = JSON.stringify({ ms: 60_000 });
    const child = Bun.spawn([...apart, ...programWords, "run", "play", "--params", params], {
      env: store.env,
      stdout: "pipe",
    });
    try {
      const { value } = await child.stdout.getReader().read();
      const id = new TextDecoder().decode(value).trim();
      expect(await store.json<object[]>(["ps"])).toMatchObject([
        { threadId: id, status: "running" },
      ]);
      const worker = workerOf(store.root);
      process.kill(worker, "SIGSTOP");
      const forced = await store.run(["kill", id, "--force"]);
      expect(forced).toEqual(oneLine(/its process is not visible from here/));
      process.kill(worker, "SIGCONT");
      // The worker executes requests that arrived while it was frozen.
      await store.until(id, "killed");
    } finally {
      child.kill("SIGKILL");
    }
  },
  180_000,
);

/** Finds the worker of a storage root by its working folder. Returns its pid in this namespace. */
function workerOf(root: string): number {
  const found = readdirSync("/proc").filter((name) => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return false;
    try {
      return readlinkSync(`/proc/${name}/cwd`) === join(root, "run");
    } catch {
      return false;
    }
  });
  if (found.length !== 1) throw new Error(`${root}: ${found.length} processes`);
  return Number(found[0]);
}

/** Returns the files of a storage root. An empty folder may remain. */
const filesOf = (store: Store): string[][] =>
  Object.entries(store.tree()).filter(([, content]) => content !== "folder");
