// @postgres: starts a server
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hashOf, type MovingHost, movingRoot, newThreadId } from "@uncaged/workflow/internal";
import {
  type Claim,
  DiskStore,
  openRoot,
  type Root,
  threadFiles,
  type ThreadRef,
  type ThreadStore,
} from "@uncaged/workflow/store";
import { codeOf } from "../../workflow/test/fixtures/until.ts";
import { readDatabaseUrl } from "../src/database/address.ts";
import { movingDatabase } from "../src/host/move.ts";
import { openPostgresStore, type PostgresStore } from "../src/store/store.ts";
import { missingPostgres } from "./fixtures/server.ts";
import { emptySchema, execute, stopShared } from "./fixtures/shared.ts";

const code = new TextEncoder().encode(
  "export const descriptor = {}; export async function* run() {}",
);
const hash = hashOf(code);
const claimOptions = { owner: "test", leaseMs: 60_000 };
const laptop = { id: "laptop", name: "laptop:/root" };
const away = { id: "away", name: "postgres://elsewhere/db" };
const arrival = (moves: number, paused = false) => ({ from: laptop, moves, paused });

let url: string;
let schema: string;
let drop: () => Promise<void>;
let store: PostgresStore;
let moving: MovingHost;
let removeCopies: () => void;
let folder: string;
let roots = 0;

const newRoot = (): Root => openRoot({ path: join(folder, `root-${(roots += 1)}`) });

async function create(on: ThreadStore, name = "test"): Promise<ThreadRef> {
  const ref = { hash, threadId: await newThreadId() };
  const parameters = { prompt: "", options: { maxRounds: 100, cwd: "/" } };
  const record = JSON.stringify({ name, ...ref, parameters, timestamp: 1 });
  const state = { kind: "running" } as const;
  await on.putBundle({ hash, code, descriptor: "description: x\nroles: {}\n" });
  await on.create({ ...ref, name, createdAt: 1, records: [record], state });
  return ref;
}

const bytesOf = (text: string) => new TextEncoder().encode(text);

/** Makes a thread continue: a step with its journal, events, a long value and a blob. Returns the value's place. */
async function goOn(on: ThreadStore, ref: ThreadRef, word: string): Promise<number | null> {
  const claim = (await on.claim(ref, claimOptions)) as Claim;
  const at = claim.keepValue(JSON.stringify(`${word} with an é`));
  claim.event(
    [1, 2].map((n) => JSON.stringify({ tag: "X", content: word, type: "y", seq: n, at })),
  );
  await claim.journal(JSON.stringify({ kind: "entry", word }));
  await claim.putBlob(bytesOf(word));
  const step = { role: "a", content: `${word} ${"x".repeat(300_000)}`, meta: {}, timestamp: 2 };
  await claim.append(JSON.stringify(step), { kind: "running" });
  await claim.release();
  return at;
}

/** Returns the contents of a thread's files by name. */
function filesOf(root: Root, ref: ThreadRef): Record<string, string> {
  const { blobs, ...logs } = threadFiles(root, ref);
  const found = Object.values(logs).filter((path) => existsSync(path));
  for (const id of existsSync(blobs) ? readdirSync(blobs) : []) found.push(join(blobs, id));
  const base = root.length;
  return Object.fromEntries(found.map((path) => [path.slice(base), readFileSync(path, "latin1")]));
}

const locationOf = async ({ threadId }: ThreadRef) => (await moving.presence(threadId))?.location;

describe.skipIf(missingPostgres !== "")(`a thread and PostgreSQL${missingPostgres}`, () => {
  beforeAll(async () => {
    ({ url, drop } = await emptySchema());
    ({ schema } = readDatabaseUrl(url));
    store = await openPostgresStore(readDatabaseUrl(url), { pool: 4 });
    ({ moving, removeCopies } = movingDatabase(store));
    folder = mkdtempSync(join(tmpdir(), "postgres-move-"));
  });
  afterAll(async () => {
    removeCopies();
    await store.close();
    await drop();
    await stopShared();
    rmSync(folder, { recursive: true, force: true });
  });

  test("a moved thread has the same files as a thread that stays in a storage root", async () => {
    const [root, twin] = [newRoot(), newRoot()];
    const [disk, stays] = [new DiskStore(root), new DiskStore(twin)];
    const ref = await create(disk);
    await goOn(disk, ref, "first");
    const { threadId } = await create(stays);
    const like = { hash, threadId };
    await goOn(stays, like, "first");
    await moving.check(root, ref);
    await moving.takeBundle(root, hash);
    await moving.arrive(root, ref, arrival(1), {});
    expect(filesOf((await moving.files(ref)) as Root, ref)).toEqual(filesOf(root, ref));
    const at = await goOn(store, ref, "second");
    expect(await goOn(stays, like, "second")).toBe(at);
    expect(await store.readValue(ref, at ?? -1)).toBe('"second with an é"');
    expect((await moving.leave(ref, laptop)).moves).toBe(2);
    const files = filesOf((await moving.files(ref)) as Root, ref);
    const logs = Object.values(files).map((text) => text.replace(/"sum":"\w+"/g, ""));
    const own = Object.values(filesOf(twin, like)).map((text) =>
      text.replaceAll(threadId, ref.threadId).replace(/"sum":"\w+"/g, ""),
    );
    expect(logs).toEqual(own);
    const back = new DiskStore((await moving.files(ref)) as Root);
    expect(await goOn(back, ref, "third")).toBe((await goOn(stays, like, "third")) as number);
  });

  test("a moved thread keeps its name, times, pause mark, deadline and last event number", async () => {
    const root = newRoot();
    const disk = new DiskStore(root);
    const ref = await create(disk, "named");
    const claim = (await disk.claim(ref, claimOptions)) as Claim;
    claim.event([JSON.stringify({ tag: "X", content: "", type: "y", payload: {}, seq: 41 })]);
    const meta = { for: "time", expiresAt: 5_000 };
    const wait = { role: "__wait__", content: "", meta, timestamp: 3 };
    await claim.append(JSON.stringify(wait), { kind: "waiting", dueAt: 5_000 });
    await claim.release();
    const before = await disk.find(ref.threadId);
    await moving.arrive(root, ref, arrival(1, true), {});
    expect(await store.find(ref.threadId)).toEqual({ ...before, paused: true } as never);
    expect((await store.claim(ref, claimOptions))?.lastSeq).toBe(41);
  });

  test("a thread moves to only one of twenty hosts, and to no host while it is claimed", async () => {
    const ref = await create(store);
    const claim = (await store.claim(ref, claimOptions)) as Claim;
    expect(await codeOf(moving.leave(ref, away))).toBe("THREAD_RUNNING");
    expect(await claim.renew()).toBe(true);
    await claim.release();
    await store.setPaused(ref, true);
    const hosts = Array.from({ length: 20 }, (_, n) => ({ id: `host ${n}`, name: `host ${n}` }));
    const left = await Promise.allSettled(hosts.map((host) => moving.leave(ref, host)));
    const [winner, ...others] = hosts.filter((_, n) => left[n]?.status === "fulfilled");
    expect(others).toEqual([]);
    const location = await locationOf(ref);
    expect(location).toMatchObject({ moves: 1, host: winner, paused: true });
    expect(await moving.leave(ref, winner as typeof away)).toEqual(location as never);
    expect(await codeOf(moving.leave(ref, away))).toBe("THREAD_MOVED");
    expect(await codeOf(store.claim(ref, { ...claimOptions, takeOver: true }))).toBe(
      "THREAD_MOVED",
    );
    expect(await codeOf(moving.leave({ ...ref, hash: "0000000000001" }, away))).toBe(
      "THREAD_NOT_FOUND",
    );
  });

  test("twenty concurrent arrivals create one thread, and an older arrival does not replace it", async () => {
    const root = newRoot();
    const disk = new DiskStore(root);
    const ref = await create(disk);
    await goOn(disk, ref, "first");
    const arrive = (moves: number) => moving.arrive(root, ref, arrival(moves), {});
    await Promise.all(Array.from({ length: 20 }, () => arrive(3)));
    expect(filesOf((await moving.files(ref)) as Root, ref)).toEqual(filesOf(root, ref));
    await goOn(store, ref, "second");
    await arrive(3);
    await arrive(1);
    expect((await store.find(ref.threadId))?.records).toBe(3);
    expect(await codeOf(arrive(4))).toBe("THREAD_EXISTS");
    await moving.leave(ref, laptop);
    expect(await codeOf(arrive(4))).toBe("THREAD_MOVED");
    const copied = (await moving.files(ref)) as Root;
    await store.remove(ref);
    for (const moves of [1, 4]) expect(await codeOf(arrive(moves))).toBe("THREAD_MOVED");
    expect(await store.find(ref.threadId)).toBeNull();
    await moving.arrive(copied, ref, arrival(5), {});
    await store.remove(ref);
    expect(await codeOf(arrive(5))).toBe("THREAD_MOVED");
    await arrive(7);
  });

  test("a returning thread replaces its remaining copy only if it continues the copy", async () => {
    const ref = await create(store);
    await goOn(store, ref, "first");
    await moving.leave(ref, laptop);
    const root = (await moving.files(ref)) as Root;
    await goOn(new DiskStore(root), ref, "second");
    await moving.check(root, ref);
    const copy = filesOf(root, ref);
    const other = newRoot();
    const foreign = new DiskStore(other);
    const parameters = { prompt: "other", options: { maxRounds: 100, cwd: "/" } };
    const record = JSON.stringify({ name: "test", ...ref, parameters, timestamp: 1 });
    const state = { kind: "running" } as const;
    await foreign.create({ ...ref, name: "test", createdAt: 1, records: [record], state });
    expect(await codeOf(moving.check(other, ref))).toBe("THREAD_EXISTS");
    const done: [number, number][] = [];
    const onProgress = (...given: [number, number]) => void done.push(given);
    await moving.arrive(root, ref, arrival(2), { onProgress });
    expect(done.at(-1)?.[0]).toBe(done.at(-1)?.[1] as number);
    expect(await locationOf(ref)).toMatchObject({ moves: 2, host: null });
    expect(filesOf((await moving.files(ref)) as Root, ref)).toEqual(copy);
    await goOn(store, ref, "third");
    expect((await store.listBlobs(ref)).length).toBe(3);
  });

  test("a move drops incomplete lines of a debug log, and refuses a thread with damaged records", async () => {
    const root = newRoot();
    const disk = new DiskStore(root);
    const ref = await create(disk);
    await goOn(disk, ref, "first");
    const { info, values } = threadFiles(root, ref);
    const [lines, kept] = [readFileSync(info), readFileSync(values)];
    appendFileSync(info, Buffer.from([0, 0, 10, 0xff, 10]));
    appendFileSync(values, Buffer.from([0, 0xff, 10]));
    await moving.check(root, ref);
    await moving.arrive(root, ref, arrival(1), {});
    const at = await goOn(store, ref, "second");
    expect(at).toBe(kept.length + 3);
    const copied = (await moving.files(ref)) as Root;
    expect(readFileSync(threadFiles(copied, ref).info).subarray(0, lines.length)).toEqual(lines);
    expect(await new DiskStore(copied).readValue(ref, at ?? -1)).toBe('"second with an é"');
    for (const log of [0, 1]) {
      const damage = `UPDATE ${schema}.lines SET content = overlay(content placing 'X' from 9 for 1)
        WHERE thread_id = $1 AND log = ${log} AND n = 0`;
      await execute(url, damage, [ref.threadId]);
      expect(await codeOf(moving.files(ref))).toBe("LOG_CORRUPT");
    }
    for (const log of ["data", "journal"] as const) {
      const path = threadFiles(root, ref)[log];
      const text = readFileSync(path, "utf8");
      rmSync(path);
      appendFileSync(path, text.replace("first", "f1rst").replace("test", "tost"));
      expect(await codeOf(moving.check(root, ref))).toBe("LOG_CORRUPT");
      rmSync(path);
      appendFileSync(path, text);
    }
    rmSync(threadFiles(root, ref).journal);
    expect(await codeOf(moving.check(root, ref))).toBe("LOG_CORRUPT");
  });

  test("names and bundles can be copied in both directions", async () => {
    const root = newRoot();
    const disk = movingRoot(root, "here");
    await new DiskStore(root).putBundle({ hash, code, descriptor: "description: x\nroles: {}\n" });
    await store.removeBundle(hash);
    expect(await codeOf(moving.bundle(hash))).toBe("BUNDLE_MISSING");
    expect(await codeOf(moving.workflow("review"))).toBe("WORKFLOW_NOT_FOUND");
    const workflow = { hash, timestamp: 1, history: [] };
    await moving.takeBundle(root, hash);
    const names = Array.from({ length: 8 }, (_, n) => `review-${n}`);
    const take = async (name: string) => {
      const other = movingDatabase(store);
      expect(await other.moving.takeWorkflow(name, workflow, false)).toEqual({ unchanged: false });
      other.removeCopies();
    };
    await Promise.all(names.map(take));
    expect(await moving.takeWorkflow("review-0", workflow, false)).toEqual({ unchanged: true });
    for (const name of names) expect(await moving.workflow(name)).toMatchObject({ hash });
    await disk.takeBundle(await moving.bundle(hash), hash);
    await disk.takeWorkflow("review-0", await moving.workflow("review-0"), false);
    expect(await disk.workflow("review-0")).toMatchObject({ hash });
    const { id, name } = await moving.identity();
    expect([id.length, name]).toEqual([36, url]);
  });
});
