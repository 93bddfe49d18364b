import { describe, test } from "bun:test";
import { hostContract } from "@uncaged/workflow/testing";
import { TestCluster } from "./fixtures/cluster.ts";

describe("the host of a cluster", () => {
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
