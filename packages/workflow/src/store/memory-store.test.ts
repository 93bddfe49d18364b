import { describe, test } from "bun:test";
import { Memory } from "./memory.ts";
import { memoryStore } from "./memory-store.ts";
import type { StoreUnderTest } from "./store-trial.ts";
import { storeContract } from "./store-contract.ts";
import type { ThreadStore } from "./store.ts";

/** Returns stores over one memory with a manual clock. */
function memoryUnderTest(): StoreUnderTest {
  let passed = 0;
  const memory = new Memory({ now: () => Date.now() + passed });
  const stores = new Set<ThreadStore>();
  return {
    open: async () => {
      const store = memoryStore(memory);
      stores.add(store);
      return store;
    },
    // A store without pending calls does nothing in the background.
    die: async (store) => {
      stores.delete(store);
    },
    expire: async (leaseMs) => {
      passed += leaseMs;
    },
    close: async () => {
      for (const store of stores) await store.close();
    },
  };
}

describe("the memory store", () => {
  for (const { name, check } of storeContract()) test(name, () => check(memoryUnderTest()));
});
