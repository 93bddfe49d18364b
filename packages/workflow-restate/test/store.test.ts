// @cluster: it starts a server.
import { afterAll, beforeAll, beforeEach, describe, test } from "bun:test";
import { storeContract, type StoreUnderTest, type ThreadStore } from "@uncaged/workflow/store";
import { isWhole } from "../../workflow/test/fixtures/cases.ts";
import { ClusterClient } from "../src/client/client.ts";
import type { ServiceName } from "../src/cluster/names.ts";
import { restateStore } from "../src/store/store.ts";
import { TestCluster } from "./fixtures/cluster.ts";
import { missingServer } from "./fixtures/server.ts";
import { admin } from "./fixtures/shared-cluster.ts";

/** A client that sends nothing more once its process has died. What it had sent is answered before `die` resolves. */
class MortalClient extends ClusterClient {
  readonly #sent = new Set<Promise<unknown>>();
  #isDead = false;

  override async call<T>(...given: Parameters<ClusterClient["call"]>): Promise<T> {
    if (this.#isDead) throw new Error("the process has died");
    const sent = super.call<T>(...given);
    this.#sent.add(sent);
    return await sent.finally(() => this.#sent.delete(sent));
  }

  async die(): Promise<void> {
    this.#isDead = true;
    await Promise.allSettled(this.#sent);
  }
}

/** Stores over an empty cluster. */
function clusterUnderTest({ cluster: { address } }: TestCluster): StoreUnderTest {
  const stores = new Map<ThreadStore, MortalClient>();
  return {
    open: async () => {
      const client = new MortalClient(address);
      const store = restateStore(client, { hasStateLimit: true });
      stores.set(store, client);
      return store;
    },
    die: async (store) => {
      await stores.get(store)?.die();
    },
    // The object compares the lease with its own clock.
    expire: (leaseMs) => Bun.sleep(leaseMs + 10),
    damage: async ({ threadId }, log, line) => {
      const key = `${log === "data" ? "s" : "j"}:${String(line).padStart(8, "0")}`;
      await change(new ClusterClient(address), "thread", threadId, key);
    },
    ...(isWhole ? { seeds: 20 } : { seeds: 5, deathsEvery: 3 }),
    close: async () => {
      for (const store of stores.keys()) await store.close();
    },
  };
}

/** Changes one letter of a value that an object keeps. */
async function change(
  client: ClusterClient,
  service: ServiceName,
  id: string,
  changed: string,
): Promise<void> {
  const state = await client.state(service, id);
  const text = (key: string, bytes: Buffer): Buffer =>
    key === changed
      ? Buffer.from(bytes.toString("utf8").replace(/[a-z]/, (letter) => letter.toUpperCase()))
      : bytes;
  const values = state.map(({ key, bytes }) => [key, [...text(key, bytes)]]);
  const body = { object_key: id, new_state: Object.fromEntries(values) as object };
  await admin(client.address, "POST", `/services/${service}/state`, body);
}

describe.skipIf(missingServer !== "")(`the store of a cluster${missingServer}`, () => {
  let cluster: TestCluster;
  beforeAll(async () => {
    cluster = await TestCluster.start();
    await cluster.work();
  });
  beforeEach(() => cluster.clear());
  afterAll(() => cluster.stop());

  for (const { name, check } of storeContract())
    test(name, () => check(clusterUnderTest(cluster)), 60_000);
});
