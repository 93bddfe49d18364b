import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FailingDisk, SmallDisk, unmountAll, whyNoMounts } from "./mounts.ts";
import { newFolder, playBundle, removeFolders, Store } from "./program.ts";
import { until } from "../../workflow/test/fixtures/until.ts";

type View = { status: string; steps: { content: string }[]; pid: number | null };

const stores: Store[] = [];
afterAll(async () => {
  for (const store of stores) await endWorkers(store);
  unmountAll();
  removeFolders();
});

/** Returns a storage root below a folder on which a disk is mounted first. */
async function storeOn<Disk>(disk: (path: string) => Disk): Promise<{ store: Store; disk: Disk }> {
  const store = new Store();
  store.isApart = true;
  const mounted = disk(store.folder);
  stores.push(store);
  await store.ok(["add", "play", playBundle]);
  return { store, disk: mounted };
}

async function endWorkers(store: Store): Promise<void> {
  await store.killWorkers();
  await until(() => store.json<unknown[]>(["ps"]).then((left) => left.length === 0));
}

/** Returns all lines of a log, including lines that readers skip. */
function linesOf(store: Store, id: string): string[] {
  const [path = ""] = new Bun.Glob(`logs/*/${id}.data.jsonl`).scanSync(store.root);
  return readFileSync(join(store.root, path), "utf8").split("\n");
}

const steps = 40;
const text = "x".repeat(20_000);

/** Starts a thread with large steps, and waits until some are committed. `open` lets it continue. */
async function begin(store: Store): Promise<{ id: string; open: () => void }> {
  const thread = await store.playGated(6, { steps, ms: 20, say: text });
  await until(async () => (await store.json<View>(["thread", thread.id])).steps.length === 5);
  return thread;
}

async function isComplete(store: Store, id: string, before: View): Promise<void> {
  const view = await store.json<View>(["thread", id]);
  expect([view.status, view.steps.length]).toEqual(["completed", steps]);
  expect(view.steps.slice(0, before.steps.length)).toEqual(before.steps);
  expect((await store.run(["verify"])).stderr).toBe("1 bundle and 1 thread are sound\n");
}

/** Expects each writing command to fail with one line that names the cause. */
async function areRefused(
  store: Store,
  id: string,
  cause: RegExp,
  ...more: string[][]
): Promise<void> {
  const other = join(newFolder(), "other.esm.js");
  writeFileSync(other, `${await Bun.file(playBundle).text()}\n// another`);
  const commands = [["run", "play"], ["add", "other", other], ["fork", id], ...more];
  for (const command of commands) {
    const { code, stdout, stderr } = await store.run(command);
    expect({ command, code, stdout, stderr }).toEqual({
      command,
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/^error: [^\n]+; hint: [^\n]+\n$/),
    });
    expect(stderr).toMatch(cause);
  }
}

const noMount = whyNoMounts();

if (noMount !== null) test.skip(`a disk that is full or read-only: skipped, ${noMount}`, () => {});
else
  describe("a disk", () => {
    test("that is full for a minute interrupts the thread and loses nothing (F5)", async () => {
      const { store, disk } = await storeOn((path) => new SmallDisk(path, 4_096));
      const { id, open } = await begin(store);
      disk.fill();
      open();
      const view = await store.until<View>(id, "interrupted");
      expect(view.steps.length).toBeLessThan(steps);
      await areRefused(store, id, /the disk is full; hint: free some space/);
      expect((await store.run(["resume", id, "--wait"])).code).not.toBe(0);
      await store.until(id, "interrupted");
      expect(await store.json<View>(["thread", id])).toEqual(view);
      disk.free();
      await store.ok(["resume", id, "--wait"]);
      await isComplete(store, id, view);
    }, 180_000);

    test("that becomes read-only stays readable, and is written again once possible (F27)", async () => {
      const { store, disk } = await storeOn((path) => new SmallDisk(path, 8_192));
      const { id, open } = await begin(store);
      await endWorkers(store);
      open();
      const view = await store.until<View>(id, "interrupted");
      disk.writable(false);
      await areRefused(
        store,
        id,
        /the file system is read-only; hint: /,
        ["kill", id],
        ["resume", id],
      );
      expect(await store.json<View>(["thread", id])).toEqual(view);
      expect((await store.run(["verify"])).code).toBe(0);
      disk.writable(true);
      await store.ok(["resume", id, "--wait"]);
      await isComplete(store, id, view);
    }, 180_000);
  });

const noLoop = noMount ?? whyNoMounts("losetup", "mkfs.ext4", "truncate");

if (noLoop !== null) test.skip(`a disk that fails its syncs: skipped, ${noLoop}`, () => {});
else
  describe("a disk that fails its syncs (F6)", () => {
    test("loses only unsynced data that was never shown, over a remount", async () => {
      const { store, disk } = await storeOn((path) => new FailingDisk(path));
      const { id, open } = await begin(store);
      const follower = store.start(["follow", id, "--json"]);
      disk.fail();
      open();
      const shown = (await follower.stdout.text()).split("\n").filter(Boolean);
      const seen = shown.flatMap((line) => (JSON.parse(line) as { step?: object }).step ?? []);
      const view = await store.until<View>(id, "interrupted");
      expect(view.steps).toEqual(seen as View["steps"]);
      const known = linesOf(store, id).slice(0, view.steps.length + 1);
      await areRefused(store, id, /error: can't /);
      await endWorkers(store);
      disk.work();
      await disk.remount();
      expect(linesOf(store, id).slice(0, known.length)).toEqual(known);
      // The last newline may be lost, because it was not synced. A resume then shows the last record again.
      const after = await store.json<View>(["thread", id]);
      expect(after.steps).toEqual(view.steps.slice(0, after.steps.length));
      await store.ok(["resume", id, "--wait"]);
      await isComplete(store, id, view);
    }, 180_000);

    test("is not relied on: a thread that resumes before the remount is complete after it", async () => {
      const { store, disk } = await storeOn((path) => new FailingDisk(path));
      const { id, open } = await begin(store);
      disk.fail();
      open();
      const view = await store.until<View>(id, "interrupted");
      disk.work();
      await store.ok(["resume", id, "--wait"]);
      await isComplete(store, id, view);
      await disk.remount();
      await isComplete(store, id, view);
    }, 180_000);

    test("does not keep a registry or a bundle whose sync failed, once it is added again", async () => {
      const { store, disk } = await storeOn((path) => new FailingDisk(path));
      const other = join(newFolder(), "other.esm.js");
      writeFileSync(other, `${await Bun.file(playBundle).text()}\n// ${"another ".repeat(10_000)}`);
      disk.fail();
      expect((await store.run(["add", "other", other])).code).toBe(1);
      disk.work();
      await store.ok(["add", "other", other]);
      await disk.remount();
      await store.ok(["run", "other", "--wait"]);
      expect((await store.run(["verify"])).code).toBe(0);
    }, 180_000);
  });
