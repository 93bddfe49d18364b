// @cluster: it starts a server for each rule.
import { describe, test } from "bun:test";
import { hostContract } from "@uncaged/workflow/testing";
import { TestCluster } from "./fixtures/cluster.ts";
import { missingServer } from "./fixtures/server.ts";

describe.skipIf(missingServer !== "")(`the host of a cluster${missingServer}`, () => {
  for (const { name, check } of hostContract()) {
    test(name, async () => {
      const cluster = await TestCluster.start();
      try {
        await cluster.work();
        await check(cluster.under());
      } finally {
        await cluster.stop();
      }
    });
  }
});
