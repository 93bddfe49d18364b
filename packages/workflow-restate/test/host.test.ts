// @cluster: starts a server
import { afterAll, beforeAll, beforeEach, describe, test } from "bun:test";
import { hostContract } from "@uncaged/workflow/testing";
import { TestCluster } from "./fixtures/cluster.ts";
import { missingServer } from "./fixtures/server.ts";

describe.skipIf(missingServer !== "")(`the host of a cluster${missingServer}`, () => {
  let cluster: TestCluster;
  beforeAll(async () => {
    cluster = await TestCluster.start();
    await cluster.work();
  });
  beforeEach(() => cluster.clear());
  afterAll(() => cluster.stop());

  for (const { name, check } of hostContract()) test(name, () => check(cluster.under()));
});
