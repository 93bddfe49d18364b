// @postgres: starts a server
import { afterAll, describe, test } from "bun:test";
import { storeContract, type StoreUnderTest } from "@uncaged/workflow/host";
import type { ThreadStore } from "@uncaged/workflow/store";
import { isWhole } from "../../workflow/test/fixtures/cases.ts";
import { readDatabaseUrl } from "../src/database/address.ts";
import { Database } from "../src/database/database.ts";
import { migrate } from "../src/schema/migrate.ts";
import { PostgresStore } from "../src/store/store.ts";
import { missingPostgres } from "./fixtures/server.ts";
import { emptySchema, execute, stopShared } from "./fixtures/shared.ts";

/** Connections that send nothing more once `die` is called. `die` resolves when all that was sent is answered. */
class MortalDatabase extends Database {
  readonly #sent = new Set<Promise<unknown>>();
  #isDead = false;

  override async query<Row extends object>(
    ...given: Parameters<Database["query"]>
  ): Promise<Row[]> {
    if (this.#isDead) throw new Error("the process has died");
    const sent = super.query<Row>(...given);
    this.#sent.add(sent);
    return await sent.finally(() => this.#sent.delete(sent));
  }

  async die(): Promise<void> {
    this.#isDead = true;
    await Promise.allSettled(this.#sent);
    await super.close();
  }
}

/** Returns stores in an empty schema. */
async function postgresUnderTest(): Promise<StoreUnderTest> {
  const { url, drop } = await emptySchema();
  const { schema } = readDatabaseUrl(url);
  const stores = new Map<ThreadStore, MortalDatabase>();
  return {
    open: async () => {
      const database = new MortalDatabase(readDatabaseUrl(url), { pool: 3 });
      await migrate(database);
      const store = new PostgresStore(database);
      stores.set(store, database);
      return store;
    },
    die: async (store) => {
      await stores.get(store)?.die();
      stores.delete(store);
    },
    expire: (leaseMs) => Bun.sleep(leaseMs + 10),
    damage: async ({ threadId }, log, line) =>
      void (await execute(
        url,
        `UPDATE ${schema}.lines SET content = overlay(content placing 'X' from 3 for 1)
         WHERE thread_id = $1 AND log = $2 AND n = $3`,
        [threadId, log === "data" ? 0 : 1, line],
      )),
    ...(isWhole ? { seeds: 50 } : { seeds: 5, deathsEvery: 3 }),
    close: async () => {
      for (const store of stores.keys()) await store.close();
      await drop();
    },
  };
}

describe.skipIf(missingPostgres !== "")(`the store in PostgreSQL${missingPostgres}`, () => {
  afterAll(stopShared);

  for (const { name, check } of storeContract())
    test(name, async () => await check(await postgresUnderTest()), 60_000);
});
