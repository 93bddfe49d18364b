import { afterEach, describe, expect, test } from "bun:test";
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { moveThread } from "../src/host/move.ts";
import { retryOptions } from "../src/host/rules.ts";
import { openLocalHost } from "../src/local/host.ts";
import { movingRoot } from "../src/local/upkeep/move.ts";
import { dataPath, infoPath, locationPath } from "../src/disk/paths.ts";
import { openRoot } from "../src/disk/root.ts";
import type { ThreadRef } from "../src/record/thread.ts";
import { asker, bundleOf, counter, endless } from "./fixtures/bundles.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";
import { codeOf, messageOf, until } from "./fixtures/until.ts";

afterEach(removeStores);

const mover = join(import.meta.dir, "fixtures", "mover.ts");
const two = () => [new TestStore(), new TestStore()] as const;
const move = (from: TestStore, to: TestStore, ref: ThreadRef) =>
  moveThread(movingRoot(from.root, "one"), movingRoot(to.root, "other"), ref);
const logOf = ({ root }: TestStore, { hash, threadId }: ThreadRef) =>
  readFileSync(dataPath(root, hash, threadId), "utf8");
const answer = ({ root }: TestStore, ref: ThreadRef, content: string, requestId?: string) =>
  openLocalHost({ path: root }).control(ref, {
    kind: "answer",
    input: { content, ...(requestId !== undefined && { meta: { requestId } }) },
    env: {},
  });
const resume = ({ root }: TestStore, ref: ThreadRef) =>
  openLocalHost({ path: root }).control(ref, { kind: "resume", env: {} });

/** A workflow that asks three times, and stores data outside of its log. */
const talk = bundleOf(`
  for (let n = input.steps.length; n < 6; n += 2) {
    if (n === 0) await options.blobs.put(new TextEncoder().encode("kept"));
    yield step("__wait__", "and " + n + "?", { for: "word" });
  }
  const [id] = await options.blobs.ids();
  yield step("kept", new TextDecoder().decode(await options.blobs.get(id)));
`);

async function sound(...stores: TestStore[]): Promise<void> {
  for (const { root } of stores) {
    const host = openLocalHost({ path: root });
    expect((await host.verify()).problems).toEqual([]);
    expect((await host.collect()).removed).toEqual([]);
  }
}

describe("a thread that moves", () => {
  test("continues on its current host, there and back, with all its records", async () => {
    const [one, other] = two();
    const ref = await one.start(await one.add(talk));
    await one.whenStatus(ref, "waiting");
    await answer(one, ref, "a", "first");
    await until(async () => (await one.read(ref)).steps.length === 3);
    const before = logOf(one, ref);
    expect(await move(one, other, ref)).toMatchObject({ moved: true });
    expect(logOf(other, ref)).toBe(before);
    expect(readFileSync(infoPath(other.root, ref.hash, ref.threadId), "utf8")).toBe(one.notes(ref));
    expect(await other.read(ref)).toMatchObject({ status: "waiting", threadId: ref.threadId });
    await answer(other, ref, "again", "first");
    expect((await other.read(ref)).steps).toHaveLength(3);
    await answer(other, ref, "b");
    await until(async () => (await other.read(ref)).steps.length === 5);
    expect(await move(other, one, ref)).toMatchObject({ moved: true });
    expect(logOf(one, ref).startsWith(before)).toBe(true);
    await answer(one, ref, "c");
    const { steps } = await one.whenStatus(ref, "completed");
    expect(steps.at(-1)?.content).toBe("kept");
    expect((await other.read(ref)).status).toBe("moved");
    expect(await move(one, other, ref)).toMatchObject({ moved: true });
    expect(logOf(other, ref)).toBe(logOf(one, ref));
    await sound(one, other);
  });

  test("can be read and forked on its old host, but not changed", async () => {
    const [one, other] = two();
    const ref = await one.start(await one.add(asker));
    await one.whenStatus(ref, "waiting");
    await move(one, other, ref);
    const host = openLocalHost({ path: one.root });
    const again = { workflow: ref.hash, threadId: ref.threadId, cwd: "/", env: {} };
    const view = await host.read(ref);
    const changes = [
      () => host.control(ref, { kind: "resume", env: {} }),
      () => host.control(ref, { kind: "pause" }),
      () => host.control(ref, { kind: "kill" }),
      () => host.control(ref, { kind: "kill", force: true }),
      () => answer(one, ref, "yes"),
      () => host.start(again),
      async () => retryOptions(view, { env: {} }),
      () => move(one, new TestStore(), ref),
    ];
    for (const change of changes) expect(await codeOf(change())).toBe("THREAD_MOVED");
    expect(await messageOf(host.control(ref, { kind: "pause" }))).toBe(
      `${ref.threadId} has moved to other:${other.root}`,
    );
    expect(view).toMatchObject({ status: "moved", movedTo: `other:${other.root}` });
    const { rows } = await host.threads({ status: "moved" });
    expect(rows).toMatchObject([{ threadId: ref.threadId, movedTo: `other:${other.root}` }]);
    const kinds: string[] = [];
    for await (const { kind } of host.observe(ref, undefined, { events: false })) kinds.push(kind);
    expect(kinds).toEqual(["start", "step", "status"]);
    const fork = await host.fork(ref, { env: {}, keep: { atStep: 1 } });
    await one.whenStatus(fork, "waiting");
    await host.remove(ref);
    expect(await move(other, one, ref)).toMatchObject({ moved: true });
    await sound(one, other);
  });

  test("stays paused, asleep or completed, and only its new host continues it", async () => {
    const [one, other] = two();
    const expiresAt = Date.now() + 3_600_000;
    const [paused, asleep, ended] = [
      await one.start(await one.add(endless)),
      await one.start(await one.add(asker), "", {
        options: { wait: { sleep: true, expiresAt } },
      }),
      await one.start(await one.add(counter)),
    ];
    expect(await codeOf(move(one, other, paused))).toBe("THREAD_RUNNING");
    await openLocalHost({ path: one.root }).control(paused, { kind: "pause" });
    await one.whenStatus(paused, "paused");
    await one.whenStatus(asleep, "waiting");
    await one.whenStatus(ended, "completed");
    for (const ref of [paused, asleep, ended]) {
      expect(await move(one, other, ref)).toMatchObject({ moved: true });
    }
    expect((await other.read(paused)).status).toBe("paused");
    await resume(other, paused);
    await other.whenSteps(paused, (await one.read(paused)).steps.length + 2);
    const wake = (store: TestStore) => openLocalHost({ path: store.root }).wake({ env: {} });
    expect(await wake(one)).toEqual({ woken: [], failed: [], next: null });
    expect(await wake(other)).toEqual({ woken: [], failed: [], next: expiresAt });
    expect((await one.read(ended)).status).toBe("completed");
    await openLocalHost({ path: other.root }).control(paused, { kind: "kill" });
    await sound(one, other);
  });

  test("moves only once in concurrent moves", async () => {
    const [one, other] = two();
    const ref = await one.start(await one.add(talk));
    await one.whenStatus(ref, "waiting");
    const all = await Promise.all(Array.from({ length: 20 }, () => move(one, other, ref)));
    expect(all.filter(({ moved }) => moved)).toHaveLength(1);
    await answer(other, ref, "a");
    expect((await move(one, other, ref)).moved).toBe(false);
  });

  test("is on one host wherever a move is interrupted, and a repeated move finishes it", async () => {
    const store = new TestStore();
    const ref = await store.start(await store.add(talk));
    await store.whenStatus(ref, "waiting");
    const before = logOf(store, ref);
    for (let from = store, act = 0, isOver = false; !isOver; act += 1) {
      const to = new TestStore();
      const { hash, threadId } = ref;
      const args = [mover, from.root, to.root, hash, threadId, String(act)];
      const child = Bun.spawn([process.execPath, ...args], { stdout: "pipe", stderr: "inherit" });
      isOver = (await child.exited) === 0;
      const stores = [from, to];
      const codes = await Promise.all(
        stores.map((one) =>
          codeOf(openLocalHost({ path: one.root }).control(ref, { kind: "pause" })),
        ),
      );
      // Only the host with the thread answers NOT_RUNNING, because the thread waits.
      expect(codes.filter((code) => code === "NOT_RUNNING").length).toBeLessThan(2);
      const { moved } = await move(from, to, ref);
      if (isOver) expect(moved).toBe(false);
      expect(logOf(to, ref)).toBe(before);
      expect((await to.read(ref)).status).toBe("waiting");
      expect((await from.read(ref)).status).toBe("moved");
      await sound(from, to);
      from = to;
    }
  });

  test("is not moved from a copy of a storage root that is older than its last move", async () => {
    const [one, other] = two();
    const ref = await one.start(await one.add(asker));
    await one.whenStatus(ref, "waiting");
    await one.signalWorkers("SIGKILL");
    const copy = new TestStore((folder) => join(folder, "copy"));
    for (const name of ["bundles", "logs", "identity.json"]) {
      const from = join(one.root, name);
      if (existsSync(from)) cpSync(from, join(copy.root, name), { recursive: true });
    }
    await move(one, other, ref);
    expect(await codeOf(move(copy, other, ref))).toBe("THREAD_EXISTS");
    await move(other, one, ref);
    await move(one, other, ref);
    await move(other, new TestStore(), ref);
    expect(await codeOf(move(copy, other, ref))).toBe("THREAD_MOVED");
  });

  test("is corrupt while its location is unknown", async () => {
    const [one, other] = two();
    const ref = await one.start(await one.add(asker));
    await one.whenStatus(ref, "waiting");
    await move(one, other, ref);
    writeFileSync(locationPath(openRoot({ path: one.root }), ref.hash, ref.threadId), "{");
    expect(await codeOf(resume(one, ref))).toBe("LOG_CORRUPT");
    const { rows } = await openLocalHost({ path: one.root }).threads();
    expect(rows.map(({ status }) => status)).toEqual(["corrupt"]);
  });
});
