// @cluster: it starts a server.
import { afterAll, beforeAll, describe, test } from "bun:test";
import { hostContract } from "@uncaged/workflow/testing";
import { TestCluster } from "./fixtures/cluster.ts";
import { missingServer } from "./fixtures/server.ts";

let cluster: TestCluster;

beforeAll(async () => {
  if (missingServer !== "") return;
  cluster = await TestCluster.start();
  await cluster.work();
});
afterAll(async () => {
  if (missingServer === "") await cluster.stop();
});

describe.skipIf(missingServer !== "")(`the host of a cluster${missingServer}`, () => {
  for (const { name, check } of hostContract()) {
    test(name, async () => await check(cluster.under()));
  }
});
