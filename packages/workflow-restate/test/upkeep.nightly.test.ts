// @cluster: starts a server
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { settled, type ThreadRef } from "@uncaged/workflow/host";
import { codeOf, until } from "../../workflow/test/fixtures/until.ts";
import { ClusterClient } from "../src/client/client.ts";
import { frame, numbered } from "../src/client/frame.ts";
import type { RestateHost } from "../src/entry/index.ts";
import { TestCluster } from "./fixtures/cluster.ts";
import { missingServer } from "./fixtures/server.ts";
import { bearer } from "./fixtures/shared-cluster.ts";

const [hourMs, dayMs] = [3_600_000, 86_400_000];

let cluster: TestCluster;
let host: RestateHost;
let client: ClusterClient;

beforeAll(async () => {
  if (missingServer !== "") return;
  cluster = await TestCluster.start();
  await cluster.work();
  host = cluster.open();
  client = new ClusterClient(cluster.cluster.address);
});
afterAll(async () => {
  if (missingServer === "") await cluster.stop();
});

const bundle = (content: string): string => `
export const descriptor = { description: "of a test", roles: {} };
export async function* run(input, options) {
  if (options.waits && input.steps.length === 0) yield { role: "__wait__", content: "", meta: { for: "word" } };
  const id = await options.blobs.put(new TextEncoder().encode("kept"));
  yield { role: "a", content: "${content}", meta: { id } };
  return { returnCode: 0, summary: "done" };
}`;

async function start(content: string, options: object = {}): Promise<ThreadRef> {
  const workflow = await cluster.put(host, bundle(content));
  return await host.start({ workflow, cwd: "/", env: {}, options: { ...options } });
}

/** Changes an object's state through the admin interface. Null deletes a value. */
async function alter(
  service: "thread" | "bundle",
  key: string,
  changes: Record<string, ((bytes: Buffer) => Buffer) | null>,
): Promise<void> {
  const kept = new Map((await client.state(service, key)).map((row) => [row.key, row.bytes]));
  for (const [name, change] of Object.entries(changes)) {
    const bytes = kept.get(name);
    if (!bytes) throw new RangeError(`${key} has no ${name}`);
    if (change) kept.set(name, change(bytes));
    else kept.delete(name);
  }
  await put(service, key, kept);
}

async function put(
  service: "thread" | "bundle",
  key: string,
  kept: ReadonlyMap<string, Buffer>,
): Promise<void> {
  const state = Object.fromEntries([...kept].map(([name, bytes]) => [name, [...bytes]]));
  const response = await fetch(`${cluster.cluster.address.admin}/services/${service}/state`, {
    method: "POST",
    headers: { ...bearer(cluster.cluster.address), "content-type": "application/json" },
    body: JSON.stringify({ object_key: key, new_state: state }),
  });
  if (!response.ok) throw new Error(await response.text());
  // The change takes effect after a moment.
  await until(async () => {
    const now = new Map((await client.state(service, key)).map((row) => [row.key, row.bytes]));
    return (
      now.size === kept.size && [...kept].every(([name, bytes]) => now.get(name)?.equals(bytes))
    );
  });
}

const flipped = (at: number) => (bytes: Buffer) => {
  const changed = Buffer.from(bytes);
  changed[at] = (changed[at] ?? 0) ^ 1;
  return changed;
};
const problems = async (): Promise<string[]> =>
  (await host.verify()).problems.map(({ path, line }) => `${path}:${line ?? ""}`).toSorted();

describe.skipIf(missingServer !== "")(`verify on a cluster${missingServer}`, () => {
  test("finds no problem in valid data, and each planted problem", async () => {
    const all: ThreadRef[] = [];
    for (const content of ["one", "two", "three", "four", "five"]) all.push(await start(content));
    for (const ref of all) await settled(host, ref);
    expect(await problems()).toEqual([]);
    const [changed, lost, blob, broken] = all.map(({ threadId }) => threadId);
    await alter("thread", changed ?? "", { [numbered("s", 1)]: flipped(20) });
    await alter("thread", lost ?? "", { [numbered("s", 1)]: null });
    const kept = (await client.keys("thread", blob ?? "")).find((key) => key.startsWith("b:"));
    await alter("thread", blob ?? "", { [kept ?? ""]: flipped(0) });
    const [{ bytes: meta } = {}] = await client.state("thread", broken ?? "", " AND key = 'meta'");
    await alter("thread", broken ?? "", { meta: () => Buffer.from("{") });
    const hash = all[4]?.hash ?? "";
    await alter("bundle", hash, { [numbered("code", 0)]: null });
    const found = [
      ...[
        `thread/${changed}:2`,
        `thread/${lost}:2`,
        `thread/${blob}/${kept}:`,
        `thread/${broken}:`,
      ],
      `bundle/${hash}:`,
    ];
    expect(await problems()).toEqual(found.toSorted());
    // The host refuses a damaged value, and never reads it as another kind of value.
    expect(await codeOf(host.find(broken ?? ""))).toBe("LOG_CORRUPT");
    expect(await host.row(all[0] as ThreadRef)).toMatchObject({ threadId: changed });
    expect((await host.read(all[0] as ThreadRef)).status).toBe("corrupt");
    const other = cluster.open();
    const again = { workflow: hash, cwd: "/", env: {} };
    expect(await codeOf(other.start(again))).toBe("BUNDLE_MISSING");
    await cluster.put(other, bundle("five"));
    expect((await settled(other, await other.start(again))).status).toBe("completed");
    await alter("thread", broken ?? "", { meta: () => meta as Buffer });
    for (const ref of all.slice(0, 4)) await host.remove(ref);
    expect(await problems()).toEqual([]);
  });
});

describe.skipIf(missingServer !== "")(`a thread of an older worker version${missingServer}`, () => {
  const linesOf = async (by: RestateHost, ref: ThreadRef) => {
    const lines: string[] = [];
    for await (const line of by.log(ref)) lines.push(JSON.stringify(line));
    return lines;
  };

  test("keeps its debug log under older keys, which stays readable and grows", async () => {
    const ref = await start("older", { waits: true });
    await settled(host, ref);
    const before = await linesOf(host, ref);
    const kept = await client.state("thread", ref.threadId);
    const older = kept.map(({ key, bytes }) => [key.replace(/^t:/, "e:"), bytes] as const);
    expect(older).not.toEqual(kept.map(({ key, bytes }) => [key, bytes] as const));
    await put("thread", ref.threadId, new Map(older));
    expect(await linesOf(cluster.open(), ref)).toEqual(before);
    await host.control(ref, { kind: "answer", input: { content: "go on" }, env: {} });
    expect((await settled(host, ref)).status).toBe("completed");
    const whole = await linesOf(cluster.open(), ref);
    expect(whole.slice(0, before.length)).toEqual(before);
    expect(whole.length).toBeGreaterThan(before.length);
    expect(await linesOf(host, ref)).toEqual(whole);
  });
});

describe.skipIf(missingServer !== "")(`gc on a cluster${missingServer}`, () => {
  const later = (ms: number) => host.collect({ now: Date.now() + ms });

  test("discards unneeded bundles, and restores a bundle for a late reader", async () => {
    const [hash, unneeded] = [
      await cluster.put(host, bundle("late")),
      await cluster.put(host, bundle("never")),
    ];
    expect((await host.collect()).removed).toEqual([]);
    const waiting = await start("waits", { waits: true });
    await settled(host, waiting);
    const ref = { workflow: hash, cwd: "/", env: {} };
    const { removed } = await later(2 * hourMs);
    expect(removed).toContain(hash);
    expect(removed).not.toContain(waiting.hash);
    expect(await codeOf(cluster.open().start(ref))).toBe("WORKFLOW_NOT_FOUND");
    await client.call(
      "bundle",
      unneeded,
      "piece",
      frame({ key: numbered("code", 0) }, [Buffer.from(bundle("never"))]),
    );
    expect((await later(2 * hourMs)).removed).toEqual([]);
    // A worker also restores the bundle for a thread that starts meanwhile.
    expect(await cluster.open().descriptor(hash)).toMatchObject({ description: "of a test" });
    expect((await settled(host, await host.start(ref))).status).toBe("completed");
    const gone = await later(2 * dayMs);
    expect(gone.emptied).toContain(`bundle/${unneeded}`);
    expect(gone.emptied).not.toContain(`bundle/${hash}`);
    expect(gone.removed).toEqual([]);
    expect(await client.keys("bundle", unneeded)).toEqual([]);
    await host.control(waiting, { kind: "answer", input: { content: "go" }, env: {} });
    expect((await settled(host, waiting)).status).toBe("completed");
  });

  test("in a loop deletes nothing that concurrently started threads need", async () => {
    const refs: ThreadRef[] = [];
    let isDone = false;
    const collecting = (async () => {
      while (!isDone) await later(2 * hourMs);
    })();
    for (let n = 0; n < 12; n += 1) {
      // gc may discard the bundle before the start, which then fails. Store and start it again.
      for (let ref: ThreadRef | null = null; ref === null; ) {
        ref = await start(`of ${n}`).catch(() => null);
        if (ref) refs.push(ref);
      }
    }
    for (const ref of refs) expect((await settled(host, ref)).status).toBe("completed");
    isDone = true;
    await collecting;
    await later(2 * dayMs);
    const { problems: found } = await cluster.open().verify();
    expect(found).toEqual([]);
  });

  test("deletes the values of an abandoned start", async () => {
    const threadId = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    const keys = [numbered("s", 0)];
    const message = frame({ token: "lost", from: 0, keys }, [Buffer.from("x")]);
    await client.call("thread", threadId, "stage", message);
    expect((await host.collect()).leftovers).toEqual([]);
    const dry = await host.collect({ dryRun: true, now: Date.now() + 2 * hourMs });
    expect(dry.leftovers).toEqual([`thread/${threadId}`]);
    expect((await later(2 * hourMs)).leftovers).toEqual([`thread/${threadId}`]);
    expect(await client.keys("thread", threadId)).toEqual([]);
  });
});
