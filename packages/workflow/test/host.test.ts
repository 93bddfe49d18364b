import { afterEach, describe, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { hostContract } from "../src/entry/testing.ts";
import { openLocalHost } from "../src/local/host.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";

afterEach(removeStores);

describe("the local host", () => {
  for (const { name, check } of hostContract()) {
    test(name, async () => {
      const store = new TestStore();
      const host = openLocalHost({ path: store.root });
      const put = async (bundle: string, as?: string): Promise<string> => {
        if (as === undefined) return await store.add(bundle);
        const file = join(store.folder, "bundle.esm.js");
        writeFileSync(file, bundle);
        return (await host.register(as, file, { sandbox: "off" })).hash;
      };
      await check({ host, put });
    });
  }
});
