// @cluster: starts a server.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import {
  type Cluster,
  type ClusterAddress,
  clusterState,
  hostUrl,
  registerWorker,
  startCluster,
} from "../../workflow-restate/src/entry/cluster.ts";
import { type Answer, guarded, instead } from "../../workflow-restate/test/fixtures/instead.ts";
import { admin } from "../../workflow-restate/test/fixtures/shared-cluster.ts";
import { missingServer } from "../../workflow-restate/test/fixtures/server.ts";
import { newFolder, playStore, removeFolders, type Store } from "./program.ts";

setDefaultTimeout(120_000);

/* A cluster without workers, and foreign servers in place of the cluster or its workers. */
let cluster: Cluster;
let store: Store;
/** A waiting thread of the storage root. */
let thread: string;
const servers: Bun.Server<unknown>[] = [];
const children: Bun.Subprocess[] = [];
const onCluster = describe.skipIf(missingServer !== "");

beforeAll(async () => {
  if (missingServer !== "") return;
  cluster = await startCluster({ folder: join(newFolder(), "servers") });
  store = await playStore();
  thread = await store.play({ ask: 2 });
  await store.until(thread, "waiting");
});
afterAll(async () => {
  if (missingServer === "") {
    for (const child of children) child.kill("SIGKILL");
    await Promise.all(children.map(({ exited }) => exited));
    for (const server of servers) await server.stop(true);
    await cluster.stop();
  }
  removeFolders();
});

type Given = { env: Record<string, string> };
const of = (address: ClusterAddress, token = cluster.address.token): Given => ({
  env: { UNCAGED_WORKFLOW_HOST: hostUrl(address), UNCAGED_WORKFLOW_HOST_TOKEN: token ?? "" },
});
const real = (): Given => of(cluster.address);

/** Returns the cluster's address with a foreign server in place of one or both interfaces. */
function other(answer: Answer, names: ("ingress" | "admin")[] = ["ingress", "admin"]) {
  const address = { ...cluster.address };
  for (const name of names) {
    const server = instead(cluster.address, name, answer);
    servers.push(server);
    address[name] = `http://127.0.0.1:${server.port}`;
  }
  return address;
}

/** Returns commands that read, change, serve, run and move. */
const commands = (): string[][] => [
  ["threads"],
  ["run", "play", "--prompt", "go"],
  ["kill", thread],
  ["serve", "--port", "0"],
  ["worker", "--port", "0"],
  ["push", thread],
];

/** Expects each command to fail with this error code, to print the error in one line, and to change nothing. */
async function refused(code: string, given: Given, all = commands()): Promise<void> {
  const before = store.tree();
  for (const [n, words] of all.entries()) {
    // Alternates between text and JSON, because both outputs use one function.
    const isJson = n % 2 === 0;
    const { stdout, ...ended } = await store.run([...words, ...(isJson ? ["--json"] : [])], given);
    const where = words.join(" ");
    if (isJson) {
      const { error } = JSON.parse(stdout) as { error: { code: string; hint: string } };
      expect([where, ended.code, ended.stderr, error.code]).toEqual([where, 1, "", code]);
      expect(error.hint).not.toBe("");
    } else {
      expect([where, ended.code, stdout]).toEqual([where, 1, ""]);
      expect(ended.stderr).toMatch(/^error: [^\n]+; hint: [^\n]+\n$/);
    }
  }
  expect(store.tree()).toEqual(before);
}

onCluster(`every command fails in one line${missingServer}`, () => {
  const closed = "http://127.0.0.1:1";
  const cases: [string, string, () => Given][] = [
    ["no server listens", "NO_CLUSTER", () => of({ ingress: closed, admin: closed, token: null })],
    ["the ingress is down", "HALF_CLUSTER", () => of({ ...cluster.address, ingress: closed })],
    ["the token is wrong", "BAD_TOKEN", () => of(other(guarded("right")), "wrong")],
  ];
  test.each(cases)("if %s: %s", async (_where, code, given) => {
    await refused(code, given());
  });

  test("if no worker is registered: NO_WORKERS", async () => {
    const given = of(other(guarded("right")), "right");
    await refused(
      "NO_WORKERS",
      given,
      commands().filter(([name]) => name !== "worker"),
    );
  });
});

/**
 * Registers a program with its own `thread` service, runs `act`, and removes the program. Returns the calls that the
 * program received.
 */
async function besides(act: () => Promise<void>): Promise<string> {
  const program = join(import.meta.dir, "../../workflow-restate/test/fixtures/other.ts");
  const child = Bun.spawn([process.execPath, program], { stdin: "ignore", stdout: "pipe" });
  children.push(child);
  const reader = child.stdout.getReader();
  const port = new TextDecoder().decode((await reader.read()).value).trim();
  await registerWorker(cluster.address, `http://127.0.0.1:${port}`);
  const before = await clusterState(cluster.address);
  await act();
  expect(await clusterState(cluster.address)).toEqual(before);
  for (const { id } of before.deployments) {
    await admin(cluster.address, "DELETE", `/deployments/${id}?force=true`);
  }
  child.kill("SIGKILL");
  return (await reader.read()).value?.toString() ?? "";
}

onCluster(`in place of the workers${missingServer}`, () => {
  test("another program's service with the name of a worker's service is refused, and not called", async () => {
    const called = await besides(() => refused("FOREIGN_SERVICES", real()));
    expect(called).toBe("");
  });
});
