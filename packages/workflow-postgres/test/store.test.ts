// @postgres: starts a server
import { afterAll, describe, test } from "bun:test";
import { storeContract } from "@uncaged/workflow/host";
import { isWhole } from "../../workflow/test/fixtures/cases.ts";
import { missingPostgres } from "./fixtures/server.ts";
import { emptySchema, stopShared } from "./fixtures/shared.ts";
import { postgresUnderTest } from "./fixtures/store.ts";

describe.skipIf(missingPostgres !== "")(`the store in PostgreSQL${missingPostgres}`, () => {
  afterAll(stopShared);

  for (const { name, check } of storeContract())
    test(name, async () => await check(await postgresUnderTest(emptySchema, isWhole)), 60_000);
});
