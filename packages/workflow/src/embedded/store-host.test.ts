import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { descriptorYaml } from "../bundle/descriptor-yaml.ts";
import { hashOf } from "../bundle/hash.ts";
import { hostContract } from "../host/host-contract.ts";
import type { Host } from "../host/host.ts";
import { settled } from "../host/rules.ts";
import { Memory } from "../store/memory.ts";
import { memoryStore } from "../store/memory-store.ts";
import { openMemoryHost, openStoreHost } from "./store-host.ts";

const open: Host[] = [];
afterEach(async () => {
  for (const host of open.splice(0)) await host.close();
});

async function registered(host: Host, name: string, text: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "embedded-"));
  try {
    const file = join(folder, "bundle.esm.js");
    writeFileSync(file, text);
    return (await host.register(name, file, { sandbox: "off" })).hash;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe("the host over a store in memory", () => {
  for (const { name, check } of hostContract()) {
    test(name, async () => {
      const memory = new Memory();
      const host = openMemoryHost(memory);
      open.push(host);
      const store = memoryStore(memory);
      const put = async (text: string, as?: string): Promise<string> => {
        if (as !== undefined) return await registered(host, as, text);
        const code = new TextEncoder().encode(text);
        const hash = hashOf(code);
        const descriptor = descriptorYaml({ description: "a test", roles: {} });
        await store.putBundle({ hash, code, descriptor });
        return hash;
      };
      await check({ host, put });
    });
  }
});

test("a host over a memory store wakes sleeping threads, keeps versions, and collects garbage", async () => {
  const host = openMemoryHost();
  open.push(host);
  const folder = mkdtempSync(join(tmpdir(), "embedded-"));
  try {
    const source = (summary: string): string => `
      export const descriptor = { description: ${JSON.stringify(summary)}, roles: {} };
      export async function* run({ steps }) {
        if (steps.length === 0) {
          yield { role: "__wait__", content: "", meta: { for: "a while", sleep: true, expiresAt: Date.now() + 1 } };
        }
        return { returnCode: 0, summary: ${JSON.stringify(summary)} };
      }`;
    const file = join(folder, "sleeper.esm.js");
    const hashes: string[] = [];
    for (const summary of ["one", "two"]) {
      writeFileSync(file, source(summary));
      hashes.push((await host.register("sleeper", file, { sandbox: "off" })).hash);
    }
    expect((await host.workflows())[0]).toMatchObject({ name: "sleeper", versions: 2 });
    const { threadId, hash } = await host.start({ workflow: "sleeper", cwd: folder, env: {} });
    expect(await settled(host, { threadId, hash })).toMatchObject({ result: { summary: "two" } });
    expect(await host.rollback("sleeper")).toMatchObject({ hash: hashes[0], previous: hash });
    await host.unregister("sleeper");
    expect(await host.collect()).toMatchObject({ removed: [hashes[0]], kept: 1 });
    expect((await host.verify()).problems).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a bundle removed during a start or a registration is restored; a bundle named during a collection is kept", async () => {
  const memory = new Memory();
  const store = memoryStore(memory);
  const removed: string[] = [];
  const remove = async (): Promise<void> => {
    for (const hash of await store.listBundles()) {
      removed.push(hash);
      await store.removeBundle(hash);
    }
  };
  const host = openStoreHost(
    Object.assign(memoryStore(memory), {
      async create(...given: Parameters<typeof store.create>) {
        await remove();
        return { ...(await store.create(...given)), lacksBundle: true };
      },
      async replaceRegistry(...given: Parameters<typeof store.replaceRegistry>) {
        await remove();
        return await store.replaceRegistry(...given);
      },
      removeUnused: async () => false,
    }),
    { root: "memory", drives: false },
  );
  open.push(host);
  const text =
    "export const descriptor = { description: '', roles: {} }; export async function* run() {}";
  const hash = await registered(host, "named", text);
  expect([removed, await store.listBundles()]).toEqual([[hash], [hash]]);
  await host.start({ workflow: "named", cwd: "/", env: {} });
  expect([removed, await store.listBundles()]).toEqual([[hash, hash], [hash]]);
  await host.unregister("named");
  await store.putBundle({ hash, code: new TextEncoder().encode(text), descriptor: "" });
  for (const { threadId } of await store.list()) await store.remove({ hash, threadId });
  expect(await host.collect()).toMatchObject({ removed: [], kept: 1 });
});

test("a paused thread stays paused after its host closes, and the next host resumes it", async () => {
  const memory = new Memory();
  const store = memoryStore(memory);
  const code = new TextEncoder().encode(`
    export const descriptor = { description: "a test", roles: {} };
    export async function* run({ steps }) {
      for (let n = steps.length; n < 1000; n += 1) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        yield { role: "count", content: "", meta: {} };
      }
      return { returnCode: 0, summary: "" };
    }`);
  const hash = hashOf(code);
  const descriptor = descriptorYaml({ description: "a test", roles: {} });
  await store.putBundle({ hash, code, descriptor });
  const first = openMemoryHost(memory);
  const { threadId } = await first.start({ workflow: hash, cwd: "/", env: {} });
  const ref = { hash, threadId };
  await first.control(ref, { kind: "pause" });
  for await (const item of first.observe(ref)) {
    if (item.kind === "status" && item.state.status === "paused") break;
  }
  await first.close();
  const next = openMemoryHost(memory);
  open.push(next);
  expect(await next.read(ref)).toMatchObject({ status: "paused", pid: null });
  expect((await next.threads({ status: "paused" })).rows).toHaveLength(1);
  await next.control(ref, { kind: "resume", env: {} });
  expect((await next.read(ref)).status).toBe("running");
  await next.control(ref, { kind: "kill" });
});
