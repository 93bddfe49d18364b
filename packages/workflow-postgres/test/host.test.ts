// @postgres: starts a server
import { afterAll, describe, test } from "bun:test";
import { hostContract } from "@uncaged/workflow/testing";
import { checkHost } from "./fixtures/host.ts";
import { missingPostgres } from "./fixtures/server.ts";
import { stopShared } from "./fixtures/shared.ts";

describe.skipIf(missingPostgres !== "")(`the host on PostgreSQL${missingPostgres}`, () => {
  afterAll(stopShared);

  for (const rule of hostContract()) test(rule.name, () => checkHost(rule), 60_000);
});
