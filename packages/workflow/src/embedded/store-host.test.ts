import { afterEach, describe, test } from "bun:test";
import { descriptorYaml } from "../bundle/descriptor.ts";
import { hashOf } from "../bundle/hash.ts";
import { hostContract } from "../host/host-contract.ts";
import type { Host } from "../host/host.ts";
import { Memory } from "../store/memory.ts";
import { memoryStore } from "../store/memory-store.ts";
import { openMemoryHost } from "./store-host.ts";

const open: Host[] = [];
afterEach(async () => {
  for (const host of open.splice(0)) await host.close();
});

describe("the host over a store in memory", () => {
  for (const { name, check } of hostContract()) {
    test(name, async () => {
      const memory = new Memory();
      const host = openMemoryHost(memory);
      open.push(host);
      const store = memoryStore(memory);
      const put = async (text: string): Promise<string> => {
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
