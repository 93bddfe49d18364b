// @cluster: starts a server
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { settled, type ThreadRef } from "@uncaged/workflow/host";
import { ClusterClient } from "../src/client/client.ts";
import type { RestateHost } from "../src/entry/index.ts";
import { TestCluster, type WorkerProcess } from "./fixtures/cluster.ts";
import { missingServer } from "./fixtures/server.ts";

/**
 * A bundle that yields steps of the given sizes, each after a delay. With `keeps`, it stores a blob and asks a question
 * after the first step.
 */
const sized = `
export const descriptor = { description: "sized", roles: {} };
export async function* run(input, { sizes, takes, keeps, blobs }) {
  if (keeps && input.steps.length === 0) await blobs.put(new TextEncoder().encode("kept"));
  for (const size of sizes.slice(input.steps.length)) {
    if (keeps && size === 0) yield { role: "__wait__", content: "on?", meta: { for: "on" } };
    await new Promise((done) => setTimeout(done, takes));
    yield { role: "sized", content: "x".repeat(size), meta: {} };
  }
  return { returnCode: 0, summary: "done" };
}`;

let cluster: TestCluster;
let host: RestateHost;
let workflow: string;
let workers: WorkerProcess[];
/** Proxy between the worker and the cluster that records calls. */
let proxy: ReturnType<typeof Bun.serve>;
const called: { threadId: string; handler: string }[] = [];

beforeAll(async () => {
  if (missingServer !== "") return;
  cluster = await TestCluster.start();
  const { ingress } = cluster.cluster.address;
  proxy = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname } = new URL(request.url);
      const [, service, threadId = "", handler = ""] = pathname.split("/");
      if (service === "thread") called.push({ threadId, handler });
      const { method, headers } = request;
      const body = method === "POST" ? await request.bytes() : undefined;
      return await fetch(ingress + pathname, { method, headers, body });
    },
  });
  const through = { ingress: `http://127.0.0.1:${proxy.port}`, register: false };
  workers = [await cluster.work({ ...through, hasStateLimit: false }), await cluster.work(through)];
  cluster.use(workers.slice(0, 1));
  await cluster.register();
  host = cluster.open();
  workflow = await cluster.put(host, sized);
});
afterAll(async () => {
  if (missingServer !== "") return;
  await cluster.stop();
  await proxy.stop(true);
});

/** Returns a worker's calls to a thread's object until the thread has ended. */
async function callsOf(options: { sizes: number[]; takes: number }): Promise<string[]> {
  const ref = await host.start({ workflow, cwd: "/", env: {}, options });
  expect((await settled(host, ref)).status).toBe("completed");
  return callsTo(ref);
}

const callsTo = (ref: ThreadRef): string[] =>
  called.filter(({ threadId }) => threadId === ref.threadId).map(({ handler }) => handler);

describe.skipIf(missingServer !== "")(`a worker${missingServer}`, () => {
  test("sends one append per step and one append for the end, even for a slow role", async () => {
    const calls = await callsOf({ sizes: [1, 1, 1], takes: 400 });
    expect(calls).toEqual(["claim", ...Array.from({ length: 4 }, () => "appendEager")]);
  });

  test("gets the state along with an append while it is small", async () => {
    const calls = await callsOf({ sizes: [1, 33_000, 1], takes: 0 });
    expect(calls).toEqual(["claim", "appendEager", "appendEager", "append", "append"]);
  });

  test("reads the state of a thread with a blob separately, even after another claim", async () => {
    const options = { sizes: [1, 0], takes: 0, keeps: true };
    const ref = await host.start({ workflow, cwd: "/", env: {}, options });
    expect((await settled(host, ref)).status).toBe("waiting");
    await host.control(ref, { kind: "answer", input: { content: "go on" }, env: {} });
    expect((await settled(host, ref)).status).toBe("completed");
    const appends = callsTo(ref).filter((handler) => handler.startsWith("append"));
    expect(appends).toEqual(Array.from({ length: 4 }, () => "append"));
  });

  test("sends the debug log of a slow role before the step", async () => {
    const calls = await callsOf({ sizes: [1], takes: 1500 });
    expect(calls).toEqual(["claim", ...Array.from({ length: 3 }, () => "appendEager")]);
  });

  test("gets the first values along with every append when the servers limit the state", async () => {
    cluster.use(workers.slice(1));
    const calls = await callsOf({ sizes: [1, 33_000, 1], takes: 0 });
    expect(calls).toEqual(["claim", ...Array.from({ length: 4 }, () => "appendEager")]);
    const client = new ClusterClient(cluster.cluster.address);
    const { threadId } = called.at(-1) as { threadId: string };
    const values = await client.state("thread", threadId);
    const keys = values.map(({ key }) => key).sort();
    expect(keys[0]).toBe("meta");
    expect(values.find(({ key }) => key === "meta")?.bytes.length).toBeLessThan(8192);
  });
});
