import { afterEach, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { killThread, resumeThread } from "../src/local/workers/control.ts";
import { listLive } from "../src/local/workers/live.ts";
import { dataPath, runDir, socketName } from "../src/disk/paths.ts";
import { bundleOf, counter, endless } from "./fixtures/bundles.ts";
import { type Printed, spawnClient } from "./fixtures/clients.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";
import { messageOf, until } from "./fixtures/until.ts";

afterEach(removeStores);

/** Yields twenty steps of about 10 KB. */
const large = bundleOf(`
  for (let n = input.steps.length; n < 20; n += 1) yield step("count", String(n).padEnd(10_000));
`);

async function only(client: { printed(): Promise<Printed[]> }): Promise<Printed> {
  const [printed] = await client.printed();
  if (!printed) throw new Error("the client printed nothing");
  return printed;
}

/** The paths below a folder that other users can access, with their modes. */
function openModes(folder: string): string[] {
  return readdirSync(folder, { recursive: true }).flatMap((name) => {
    const { mode } = statSync(join(folder, String(name)), { throwIfNoEntry: false }) ?? { mode: 0 };
    return (mode & 0o077) === 0 ? [] : [`${String(name)} ${(mode & 0o777).toString(8)}`];
  });
}

describe("a size limit that cuts a write short (F5)", () => {
  test("leaves whole records, and the thread continues once there is room", async () => {
    const store = new TestStore();
    const hash = await store.add(large);
    const shell = 'ulimit -f 64 2>/dev/null; [ "$(ulimit -f)" = 64 ]';
    const { threadId } = await only(spawnClient(store, { workflow: hash }, { shell }));
    const ref = { hash, threadId: threadId ?? "" };
    await store.whenStatus(ref, "interrupted");
    await until(() => store.workers().length === 0);
    const text = readFileSync(dataPath(store.root, hash, ref.threadId), "utf8");
    expect(text).toEndWith("\n");
    expect(store.notes(ref)).toContain("the file would pass the size limit");
    const before = (await store.read(ref)).steps.length;
    expect(before).toBeGreaterThan(1);
    expect(before).toBeLessThan(20);
    await resumeThread(store.root, ref, { env: {} });
    const { steps } = await store.whenStatus(ref, "completed");
    expect(steps.map(({ content }) => Number(content))).toEqual(steps.map((_, n) => n));
    expect(readFileSync(dataPath(store.root, hash, ref.threadId), "utf8")).toStartWith(text);
  });

  test("too small for the worker's own log is reported with its cause", async () => {
    const store = new TestStore();
    const hash = await store.add(large);
    const { code } = await only(spawnClient(store, { workflow: hash }, { shell: "ulimit -f 0" }));
    expect(code).toBe("FILE_TOO_LARGE");
  });
});

describe("a client with a low limit of open files (F27)", () => {
  test("gets an error at the limit, and every accepted start is kept", async () => {
    const store = new TestStore();
    const hash = await store.add(endless);
    const client = spawnClient(
      store,
      { workflow: hash, options: { delayMs: 50 } },
      { shell: "ulimit -n 48", count: 60 },
    );
    const printed = await client.printed();
    const started = printed.flatMap(({ threadId }) => threadId ?? []);
    const refused = printed.filter(({ threadId }) => threadId === undefined);
    expect(started.length).toBeGreaterThan(3);
    expect(refused.length).toBeGreaterThan(0);
    expect(new Set(refused.map(({ code }) => code))).toEqual(new Set(["TOO_MANY_FILES"]));
    const folder = dirname(dataPath(store.root, hash, "x"));
    const logs = readdirSync(folder).filter((name) => name.endsWith(".data.jsonl"));
    expect(logs.map((name) => name.slice(0, 26)).sort()).toEqual(started.sort());
    for (const threadId of started) await killThread(store.root, { hash, threadId });
  }, 180_000);
});

describe("the surroundings of a client (F27)", () => {
  for (const umask of ["000", "077", "277"]) {
    test(`with the umask ${umask} keep every file and folder private to the user`, async () => {
      const store = new TestStore();
      const hash = await store.add(counter);
      const client = spawnClient(store, { workflow: hash }, { shell: `umask ${umask}` });
      const { threadId } = await only(client);
      await store.whenStatus({ hash, threadId: threadId ?? "" }, "completed");
      expect(openModes(store.root).filter((name) => !name.endsWith(".lock 600"))).toEqual([]);
    });
  }

  test("may have no HOME, an empty PATH and a missing TMPDIR", async () => {
    const store = new TestStore();
    const hash = await store.add(counter);
    const env = { PATH: "", TMPDIR: join(store.folder, "missing") };
    const { threadId } = await only(spawnClient(store, { workflow: hash }, { env, shell: ":" }));
    await store.whenStatus({ hash, threadId: threadId ?? "" }, "completed");
  });

  for (const folders of [2, 6, 35]) {
    test(`reach a worker through a storage root path of ${folders * 100} bytes`, async () => {
      const store = new TestStore((folder) => join(folder, `${"x".repeat(99)}/`.repeat(folders)));
      const hash = await store.add(endless);
      const ref = await store.start(hash);
      await until(async () => (await listLive(store.root)).length === 1);
      await killThread(store.root, ref);
      expect((await store.read(ref)).status).toBe("killed");
    });
  }

  test("reach a worker without a TMPDIR", async () => {
    const store = new TestStore((folder) => join(folder, "x".repeat(100), "y".repeat(100)));
    const hash = await store.add(counter);
    const env = { TMPDIR: join(store.folder, "missing") };
    const { threadId } = await only(spawnClient(store, { workflow: hash }, { env }));
    await store.whenStatus({ hash, threadId: threadId ?? "" }, "completed");
  });

  test("reach the same worker through a symbolic link to the storage root", async () => {
    const store = new TestStore();
    const hash = await store.add(bundleOf("await aborted;"));
    const link = join(store.folder, "link");
    symlinkSync(store.root, link);
    const first = await store.start(hash);
    const { threadId } = await only(spawnClient(store, { workflow: hash }, { root: link }));
    const rows = await listLive(store.root);
    expect(rows.map((row) => row.threadId).sort()).toEqual([first.threadId, threadId ?? ""].sort());
    expect(new Set(rows.map(({ pid }) => pid)).size).toBe(1);
    expect(store.workers()).toHaveLength(1);
  });

  test("do not run code or settings from the worker's folder", async () => {
    const store = new TestStore();
    const hash = await store.add(bundleOf('yield step("a", String(process.env.PLANTED));'));
    await Bun.write(join(store.folder, "evil.ts"), 'process.env.PLANTED = "preloaded";');
    await Bun.write(
      join(runDir(store.root), "bunfig.toml"),
      `preload = ["${store.folder}/evil.ts"]`,
    );
    await Bun.write(join(runDir(store.root), ".env"), "PLANTED=env");
    const ref = await store.start(hash);
    expect((await store.whenStatus(ref, "completed")).steps[0]?.content).toBe("undefined");
  });
});

describe("a worker that can't start", () => {
  const places = {
    "its socket": socketName,
    "its lock": (hash: string) => `${hash}.lock`,
    "its info": (hash: string) => `${hash}.holder`,
  };
  for (const [what, nameOf] of Object.entries(places)) {
    test(`because a folder is in the place of ${what} reports the cause`, async () => {
      const store = new TestStore();
      const hash = await store.add(counter);
      const path = join(runDir(store.root), nameOf(hash));
      mkdirSync(join(path, "in the way"), { recursive: true });
      await Bun.write(join(runDir(store.root), `${hash}.log`), "Bun v0.0.0 (of a worker before)\n");
      // A client assumes that an existing socket belongs to a worker.
      const ref = messageOf(store.start(hash));
      expect(await ref).toContain(nameOf(hash));
      expect(await ref).not.toContain("Bun v");
    });
  }
});
