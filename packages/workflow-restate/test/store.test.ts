// @cluster: starts a server
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { storeContract, type StoreUnderTest } from "@uncaged/workflow/host";
import type { ThreadStore } from "@uncaged/workflow/store";
import { until } from "../../workflow/test/fixtures/until.ts";
import { isWhole } from "../../workflow/test/fixtures/cases.ts";
import { ClusterClient } from "../src/client/client.ts";
import type { ServiceName } from "../src/cluster/names.ts";
import { restateStore } from "../src/store/store.ts";
import { TestCluster } from "./fixtures/cluster.ts";
import { missingServer } from "./fixtures/server.ts";
import { admin } from "./fixtures/shared-cluster.ts";

/** A client that stops sending when `die` is called. `die` resolves after the replies to all earlier requests. */
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

/** A bundle that waits for an answer for a second, then ends. */
const waiting = `
export const descriptor = { description: "waits", roles: {} };
export async function* run({ steps }) {
  const meta = { for: "leave", expiresAt: Date.now() + 1000 };
  if (steps.length === 0) yield { role: "__wait__", content: "may I?", meta };
  return { returnCode: 0, summary: "done" };
}`;

/** Returns stores on an empty cluster. */
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
    // The object measures the lease by its own clock.
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

/** Changes one letter of a value in an object. */
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

  test("the cluster wakes a thread when the lease of a lost holder expires", async () => {
    const host = cluster.open();
    const hash = await cluster.put(host, waiting);
    const ref = await host.start({ workflow: hash, cwd: "/", env: {} });
    const statusNow = async () => (await host.read(ref)).status;
    await until(async () => (await statusNow()) === "waiting");
    const client = new MortalClient(cluster.cluster.address);
    const store = restateStore(client);
    expect(await store.runnable({ now: 1e15, limit: 9 })).toEqual([]);
    const claim = await store.claim(ref, { owner: "a", leaseMs: 2_000 });
    expect(claim?.thread.state.kind).toBe("waiting");
    await client.die();
    await until(async () => (await statusNow()) === "completed");
    const roles = (await host.read(ref)).steps.map(({ role }) => role);
    expect(roles).toEqual(["__wait__", "__input__"]);
    await store.close();
  });
});
