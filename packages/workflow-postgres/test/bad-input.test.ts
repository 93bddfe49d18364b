// @postgres: starts a server
import { afterAll, describe, expect, test } from "bun:test";
import { isWorkflowError, type WorkflowError } from "@uncaged/workflow/host";
import { isDatabaseUrl } from "../src/database/address.ts";
import { openPostgresHost } from "../src/host/host.ts";
import { missingPostgres } from "./fixtures/server.ts";
import { emptySchema, execute, select, stopShared } from "./fixtures/shared.ts";

/** Returns the code and the kind of the error for a refused database. */
async function refusal(url: string): Promise<[code: string, kind: string]> {
  const error = await openPostgresHost({ url }).then(
    (host) => host.close(),
    (thrown: unknown) => thrown,
  );
  expect(isWorkflowError(error)).toBe(true);
  const { code, kind, message } = error as WorkflowError;
  expect(message).not.toContain("\n");
  return [code, kind];
}

/** Returns the names of all relations of a schema. */
const relations = (url: string, schema: string) =>
  select(url, "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace($1)", [schema]);

describe.skipIf(missingPostgres !== "")(`a database is refused${missingPostgres}`, () => {
  afterAll(stopShared);

  test("with one line and without a write if it is unusable", async () => {
    const { url, drop } = await emptySchema();
    const address = new URL(url);
    const schema = address.searchParams.get("schema") ?? "";
    const of = (change: (url: URL) => void): string => {
      const other = new URL(url);
      change(other);
      return other.href;
    };
    const [role, latin] = [`${schema}_poor`, `${schema}_latin`];
    await execute(url, `CREATE ROLE ${role} LOGIN`);
    await execute(url, `CREATE DATABASE ${latin} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`);
    try {
      const poor = of((it) => (it.username = role));
      expect(await refusal(of((it) => (it.port = "1")))).toEqual(["NO_DATABASE", "failed"]);
      expect(await refusal(of((it) => (it.pathname = "/none")))).toEqual([
        "NO_DATABASE",
        "missing",
      ]);
      expect(await refusal(of((it) => (it.username = "none")))).toEqual([
        "DATABASE_LOGIN",
        "failed",
      ]);
      expect(await refusal(of((it) => (it.pathname = latin)))).toEqual([
        "DATABASE_ENCODING",
        "failed",
      ]);
      expect(await refusal(of((it) => it.searchParams.set("schema", "A b")))).toEqual([
        "BAD_HOST",
        "usage",
      ]);
      for (const [mode, ...refused] of [
        ["verify-ca", "BAD_HOST", "usage"],
        ["bogus", "BAD_HOST", "usage"],
        ["require", "DATABASE_TLS", "failed"],
      ] as const) {
        expect(await refusal(of((it) => it.searchParams.set("sslmode", mode)))).toEqual([
          ...refused,
        ]);
      }
      for (const bad of [
        ...["postgres://", "postgres:///postgres", of((it) => (it.pathname = "/"))],
        of((it) => it.searchParams.set("sslrootcert", "/missing.pem")),
      ]) {
        expect(await refusal(bad)).toEqual(["BAD_HOST", "usage"]);
      }
      const loud = of((it) => it.searchParams.set("schema", "A b")).replace("postgres", "POSTGRES");
      expect(await refusal(loud)).toEqual(["BAD_HOST", "usage"]);
      expect(isDatabaseUrl(loud)).toBe(true);
      expect(await refusal(poor)).toEqual(["DATABASE_RIGHTS", "failed"]);
      expect(await relations(url, schema)).toEqual([]);

      const migrations = `CREATE TABLE ${schema}.uncaged_migrations`;
      for (const table of [
        `CREATE TABLE ${schema}.threads (id int)`,
        ...[`${migrations} (id int)`, `${migrations} (version text)`],
      ]) {
        await execute(url, `CREATE SCHEMA ${schema}; ${table}`);
        expect(await refusal(url)).toEqual(["SCHEMA_FOREIGN", "failed"]);
        expect(await relations(url, schema)).toHaveLength(1);
        await drop();
      }

      await (await openPostgresHost({ url })).close();
      expect(await refusal(poor)).toEqual(["DATABASE_RIGHTS", "failed"]);
      await execute(url, `INSERT INTO ${schema}.uncaged_migrations VALUES (1000)`);
      expect(await refusal(url)).toEqual(["SCHEMA_NEWER", "failed"]);
    } finally {
      await drop();
      await execute(url, `DROP DATABASE ${latin}`);
      await execute(url, `DROP ROLE ${role}`);
    }
  });
});
