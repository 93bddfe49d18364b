import { afterEach, describe, test } from "bun:test";
import { hostContract } from "../src/entry/testing.ts";
import { openLocalHost } from "../src/local/host.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";

afterEach(removeStores);

describe("the local host", () => {
  for (const { name, check } of hostContract()) {
    test(name, async () => {
      const store = new TestStore();
      await check({
        host: openLocalHost({ path: store.root }),
        put: (bundle) => store.add(bundle),
      });
    });
  }
});
