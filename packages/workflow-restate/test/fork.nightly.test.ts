// @cluster: starts a server
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { settled, type ThreadRef, type ThreadView } from "@uncaged/workflow/host";
import { codeOf, until } from "../../workflow/test/fixtures/until.ts";
import { ClusterClient } from "../src/client/client.ts";
import { frame, numbered } from "../src/client/frame.ts";
import type { RestateHost } from "../src/entry/index.ts";
import { TestCluster } from "./fixtures/cluster.ts";
import { missingServer } from "./fixtures/server.ts";

const abandoned = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

let cluster: TestCluster;
let host: RestateHost;
let client: ClusterClient;

beforeAll(async () => {
  if (missingServer !== "") return;
  cluster = await TestCluster.start();
  await cluster.work();
  host = cluster.open();
  client = new ClusterClient(cluster.cluster.address);
  // The last test starts the abandoned thread again, after its first start has expired.
  const keys = [numbered("s", 0), numbered("s", 1), numbered("s", 90)];
  const parts = keys.map((key) => Buffer.from(key));
  const message = frame({ token: "lost", from: 0, keys }, parts);
  await client.call("thread", abandoned, "stage", message);
});
afterAll(async () => {
  if (missingServer === "") await cluster.stop();
});

const bundle = (body: string): string => `
export const descriptor = { description: "of a test", roles: {} };
export async function* run(input, options) {
  const step = (role, content = role, meta = {}) => ({ role, content, meta });
  ${body}
  return { returnCode: 0, summary: "done" };
}`;

async function start(body: string): Promise<ThreadRef> {
  return await host.start({ workflow: await cluster.put(host, bundle(body)), cwd: "/", env: {} });
}

/** Yields steps whose total size exceeds a message of the cluster, or one message of a start. */
const steps = (count: number, megabytes: number): string => `
for (let n = input.steps.length; n < ${count}; n += 1) {
  yield step("large", String(n).repeat(${megabytes} * 1024 * 1024));
}`;
const beginnings = ({ steps: all }: ThreadView): string[] =>
  all.map(({ content }) => `${content.slice(0, 6)} ${content.length}`);

describe.skipIf(missingServer !== "")(`a fork in a cluster${missingServer}`, () => {
  test("copies a thread that is larger than a message", async () => {
    const source = await start(steps(3, 11));
    const before = await settled(host, source);
    expect(before.status).toBe("completed");
    const edit = { content: "edited" };
    const view = await settled(
      host,
      await host.fork(source, { keep: { atStep: 3 }, edit, env: {} }),
    );
    expect(view.status).toBe("completed");
    expect(beginnings(view)).toEqual([...beginnings(before).slice(0, 2), "edited 6"]);
  });

  test("gets the blobs of the copied steps", async () => {
    const source = await start(`
      const text = (bytes) => bytes && new TextDecoder().decode(bytes);
      for (const role of ["one", "two"].slice(input.steps.length)) {
        const id = await options.blobs.put(new TextEncoder().encode(role));
        yield step(role, id);
      }
      const ids = await options.blobs.ids();
      const kept = [];
      for (const { content } of input.steps) kept.push(text(await options.blobs.get(content)));
      yield step("kept", String(ids.length), { kept });`);
    await settled(host, source);
    const fork = await host.fork(source, { keep: { atStep: 1 }, env: {} });
    await settled(host, fork);
    await host.remove(source);
    const second = await host.fork(fork, { keep: { atStep: 2 }, env: {} });
    const last = (await settled(host, second)).steps.at(-1);
    expect(last).toMatchObject({ content: "2", meta: { kept: ["one", "two"] } });
  });

  test("does not exist after an incomplete start, and can be started again", async () => {
    expect(await codeOf(host.find(abandoned))).toBe("THREAD_NOT_FOUND");
    expect((await host.threads({ limit: 100 })).rows.map(({ threadId }) => threadId)).not.toContain(
      abandoned,
    );
    const workflow = await cluster.put(host, bundle('yield step("a");'));
    // A start that may still continue is not replaced.
    const ref = await host.start({ workflow, threadId: abandoned, cwd: "/", env: {} });
    expect((await settled(host, ref)).status).toBe("completed");
    const keys = await client.keys("thread", abandoned);
    expect(keys).not.toContain("staging");
    expect(keys).not.toContain(numbered("s", 90));
  });

  test("is created once by two concurrent calls with the same id", async () => {
    const threadId = "01ARZ3NDEKTSV4RRFFQ69G5FAW";
    const source = await start(steps(3, 4));
    const before = await settled(host, source);
    const other = cluster.open();
    const fork = (by: RestateHost) => by.fork(source, { keep: { atStep: 3 }, threadId, env: {} });
    const both = await Promise.all([fork(host), fork(other)]);
    expect(new Set(both.map((one) => one.threadId))).toEqual(new Set([threadId]));
    await until(async () => (await host.row(both[0]))?.status === "completed");
    expect(beginnings(await host.read(both[0]))).toEqual(beginnings(before));
    expect((await host.verify()).problems).toEqual([]);
  });
});
