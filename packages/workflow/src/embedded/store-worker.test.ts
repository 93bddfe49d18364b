import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { descriptorYaml } from "../bundle/descriptor-yaml.ts";
import { hashOf } from "../bundle/hash.ts";
import { hostContract } from "../host/host-contract.ts";
import type { Host } from "../host/host.ts";
import { Memory } from "../store/memory.ts";
import { memoryStore } from "../store/memory-store.ts";
import { openStoreHost } from "./store-host.ts";
import { driveStore, type StoreWorker, type StoreWorkerOptions } from "./store-worker.ts";

const folder = mkdtempSync(join(tmpdir(), "store-worker-"));
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

const workerEnv = { UNCAGED_OF_CONTRACT: "the worker's" };

function openHost(memory: Memory): Host {
  const host = openStoreHost(memoryStore(memory), { root: "memory", drives: false });
  closing.push(() => host.close());
  return host;
}

async function work(
  memory: Memory,
  options: Partial<StoreWorkerOptions> = {},
): Promise<StoreWorker> {
  const store = memoryStore(memory);
  const cache = mkdtempSync(join(folder, "cache-"));
  const worker = await driveStore(store, { env: workerEnv, cache, ...options });
  closing.push(async () => {
    await worker.close();
    await store.close();
  });
  return worker;
}

async function put(memory: Memory, host: Host, text: string, name?: string): Promise<string> {
  if (name !== undefined) {
    const file = join(mkdtempSync(join(folder, "bundle-")), "bundle.esm.js");
    writeFileSync(file, text);
    return (await host.register(name, file, { sandbox: "off" })).hash;
  }
  const code = new TextEncoder().encode(text);
  const hash = hashOf(code);
  const descriptor = descriptorYaml({ description: "a test", roles: {} });
  await memoryStore(memory).putBundle({ hash, code, descriptor });
  return hash;
}

describe("a host that drives nothing, and a worker of its store", () => {
  for (const { name, check } of hostContract()) {
    test(name, async () => {
      const memory = new Memory();
      const host = openHost(memory);
      await work(memory);
      await check({ host, put: (text, as) => put(memory, host, text, as), workerEnv });
    });
  }
});
