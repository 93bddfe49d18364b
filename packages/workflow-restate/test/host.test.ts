// @cluster: it starts a server for each rule.
import { describe, test } from "bun:test";
import { hostContract } from "@uncaged/workflow/testing";
import { TestCluster } from "./fixtures/cluster.ts";
import { missingServer } from "./fixtures/server.ts";
import { some } from "../../workflow/test/fixtures/cases.ts";

describe.skipIf(missingServer !== "")(`the host of a cluster${missingServer}`, () => {
  // All of them hold for the host of this machine, whose test tries them all.
  for (const { name, check } of some(hostContract(), 3)) {
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
