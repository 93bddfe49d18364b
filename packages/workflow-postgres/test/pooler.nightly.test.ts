// @postgres: starts a server
import { afterAll, beforeAll, describe, test } from "bun:test";
import { storeContract } from "@uncaged/workflow/host";
import { hostContract } from "@uncaged/workflow/testing";
import { checkHost } from "./fixtures/host.ts";
import { missingPooler, Pooler } from "./fixtures/pooler.ts";
import { PostgresServer } from "./fixtures/server.ts";
import { type EmptySchema, execute } from "./fixtures/shared.ts";
import { postgresUnderTest } from "./fixtures/store.ts";

/* The rules of stores and hosts through PgBouncer in transaction mode, where no notification arrives. */
describe.skipIf(missingPooler !== "")(`through PgBouncer${missingPooler}`, () => {
  let server: PostgresServer;
  let pooler: Pooler;
  let count = 0;

  beforeAll(async () => {
    server = await PostgresServer.start();
    pooler = await Pooler.start(server.port);
  });
  afterAll(async () => {
    await pooler.stop();
    await server.remove();
  });

  async function pooled(): Promise<EmptySchema> {
    count += 1;
    const schema = `pooled_${count}`;
    return {
      url: `postgres://uncaged@127.0.0.1:${pooler.port}/postgres?schema=${schema}`,
      drop: () => execute(server.url(), `DROP SCHEMA IF EXISTS ${schema} CASCADE`),
    };
  }

  for (const { name, check } of storeContract())
    test(name, async () => await check(await postgresUnderTest(pooled)), 60_000);
  for (const rule of hostContract()) test(rule.name, () => checkHost(rule, pooled), 60_000);
});
