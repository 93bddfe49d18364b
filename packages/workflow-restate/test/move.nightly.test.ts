// @cluster: starts a server
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Host,
  openLocalHost,
  settled,
  type Status,
  type ThreadRef,
} from "@uncaged/workflow/host";
import { moveThread, type MovingHost, movingRoot } from "@uncaged/workflow/internal";
import { threadFiles, openRoot } from "@uncaged/workflow/store";
import { codeOf, until } from "../../workflow/test/fixtures/until.ts";
import type { RestateHost } from "../src/entry/index.ts";
import { TestCluster, untilNoWorker } from "./fixtures/cluster.ts";
import { missingServer } from "./fixtures/server.ts";
import { isWhole } from "../../workflow/test/fixtures/cases.ts";

process.env.UNCAGED_WORKFLOW_IDLE_MS ??= "600";

let cluster: TestCluster;
let host: RestateHost;
let folder: string;
let local: Host;
let laptop: MovingHost;

beforeAll(async () => {
  if (missingServer !== "") return;
  cluster = await TestCluster.start();
  await cluster.work();
  host = cluster.open();
  folder = mkdtempSync(join(tmpdir(), "uw-move-"));
  local = openLocalHost({ path: join(folder, "root") });
  laptop = movingRoot(local.root, "laptop");
});
afterAll(async () => {
  if (missingServer !== "") return;
  await cluster.stop();
  await untilNoWorker(local);
  rmSync(folder, { recursive: true, force: true });
});

const bundle = (body: string): string => `
export const descriptor = { description: "of a test", roles: {} };
export async function* run(input, options) {
  const step = (role, content = role, meta = {}) => ({ role, content, meta });
  ${body}
  return { returnCode: 0, summary: "done" };
}`;

/** A bundle that alternates between a noted step and a question. */
const talks = bundle(`
  let { length } = input.steps;
  while (length < 12) {
    if (length % 3 === 0) {
      const id = await options.blobs.put(new TextEncoder().encode("kept " + length));
      yield step("note", "n".repeat(2000), { id });
      length += 1;
    }
    if (length % 3 === 1) { yield step("__wait__", "and?", { for: "word" }); length += 2; }
    else length += 1;
  }
  const ids = await options.blobs.ids();
  yield step("kept", String(ids.length));
`);

let files = 0;
async function start(on: Host, body: string, options: Record<string, unknown> = {}) {
  const file = join(folder, `b${(files += 1)}.esm.js`);
  writeFileSync(file, body);
  const { hash } = await on.store(file);
  return await on.start({ workflow: hash, cwd: folder, env: {}, maxRounds: 10_000, options });
}

const becomes = (on: Host, ref: ThreadRef, status: Status, steps = 0) =>
  until(async () => {
    const view = await on.read(ref);
    return view.status === status && view.steps.length >= steps;
  });
const answer = (on: Host, ref: ThreadRef, content: string, requestId = content) =>
  on.control(ref, { kind: "answer", input: { content, meta: { requestId } }, env: {} });
const push = (ref: ThreadRef) => moveThread(laptop, host.moving, ref);
const pull = (ref: ThreadRef) => moveThread(host.moving, laptop, ref);
const textsOf = async (on: Host, ref: ThreadRef) => {
  await on.read(ref);
  const { data, info, values } = threadFiles(openRoot({ path: on.root }), ref);
  return [data, info, values].map((path) => {
    try {
      return readFileSync(path, "utf8");
    } catch {
      return "";
    }
  });
};
async function sound(): Promise<void> {
  for (const one of [local, cluster.open()]) {
    expect((await one.verify()).problems).toEqual([]);
    expect((await one.collect()).removed).toEqual([]);
  }
}

describe.skipIf(missingServer !== "")(`a thread that moves${missingServer}`, () => {
  test("continues in the cluster, on the laptop and in the cluster again, with the same records", async () => {
    const ref = await start(local, talks);
    await becomes(local, ref, "waiting");
    await answer(local, ref, "a");
    await becomes(local, ref, "waiting", 5);
    expect(await push(ref)).toMatchObject({ moved: true });
    expect(await textsOf(host, ref)).toEqual(await textsOf(local, ref));
    expect((await host.read(ref)).status).toBe("waiting");
    await answer(host, ref, "again", "a");
    expect((await host.read(ref)).steps).toHaveLength(5);
    await answer(host, ref, "b");
    await becomes(host, ref, "waiting", 8);
    expect(await pull(ref)).toMatchObject({ moved: true });
    expect(await textsOf(local, ref)).toEqual(await textsOf(host, ref));
    await answer(local, ref, "c");
    await becomes(local, ref, "waiting", 11);
    expect((await host.read(ref)).status).toBe("moved");
    expect(await push(ref)).toMatchObject({ moved: true });
    expect(await textsOf(host, ref)).toEqual(await textsOf(local, ref));
    expect(await textsOf(cluster.open(), ref)).toEqual(await textsOf(local, ref));
    await answer(host, ref, "d");
    const { steps } = await settled(host, ref);
    expect(steps.at(-1)?.content).toBe("4");
    expect((await host.attempts(ref)).map(({ role }) => role)).toContain("kept");
    const listed = await host.threads({ limit: 10 });
    expect([listed.total, listed.rows.map(({ threadId }) => threadId)]).toEqual([
      1,
      [ref.threadId],
    ]);
    await sound();
  });

  test("refuses every change on its old host, and can be read and forked there", async () => {
    const ref = await start(local, talks);
    await becomes(local, ref, "waiting");
    await push(ref);
    await pull(ref);
    const again = { workflow: ref.hash, threadId: ref.threadId, cwd: "/", env: {} };
    const changes = [
      () => host.control(ref, { kind: "pause" }),
      () => host.control(ref, { kind: "resume", env: {} }),
      () => host.control(ref, { kind: "kill" }),
      () => answer(host, ref, "a"),
      () => host.start(again),
    ];
    for (const change of changes) expect(await codeOf(change())).toBe("THREAD_MOVED");
    const movedTo = `laptop:${local.root}`;
    expect(await host.read(ref)).toMatchObject({ status: "moved", movedTo });
    const { rows } = await host.threads({ status: "moved" });
    expect(rows.find(({ threadId }) => threadId === ref.threadId)).toMatchObject({ movedTo });
    expect((await host.live()).map(({ threadId }) => threadId)).not.toContain(ref.threadId);
    const kinds: string[] = [];
    for await (const { kind } of host.observe(ref, undefined, { events: false })) kinds.push(kind);
    expect(kinds).toEqual(["start", "step", "step", "status"]);
    const fork = await host.fork(ref, { env: {}, keep: { atStep: 2 } });
    await becomes(host, fork, "waiting");
    await host.remove(ref);
    expect(await push(ref)).toMatchObject({ moved: true });
    await answer(host, ref, "a");
  });

  test("with thousands of steps and records of 30 MB moves in pieces, and stays when a record is too large", async () => {
    const large = bundle(`
      for (const size of options.sizes.slice(input.steps.length)) yield step("a", "x".repeat(size));
      yield step("__wait__", "go on?", { for: "word" });`);
    const mb = 1024 * 1024;
    const sizes = [
      ...Array.from({ length: 2500 }, () => 10),
      ...(isWhole ? [30 * mb] : []),
      30 * mb,
      9 * mb,
    ];
    const fits = await start(local, large, { sizes });
    const tooLarge = await start(local, large, { sizes: [33 * mb] });
    for (const ref of [fits, tooLarge]) await becomes(local, ref, "waiting");
    expect(await codeOf(push(tooLarge))).toBe("RECORD_TOO_LARGE");
    expect((await local.read(tooLarge)).status).toBe("waiting");
    await push(fits);
    expect(await textsOf(host, fits)).toEqual(await textsOf(local, fits));
    await answer(host, fits, "yes");
    await settled(host, fits);
  });
});
