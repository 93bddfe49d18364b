// @cluster: it starts a server.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { until } from "../../workflow/test/fixtures/until.ts";
import { ClusterClient } from "../../workflow-restate/src/client/client.ts";
import {
  type Cluster,
  type ClusterAddress,
  clusterState,
  hostUrl,
  registerWorker,
  serviceMetadata,
  startCluster,
} from "../../workflow-restate/src/cluster.ts";
import {
  type Answer,
  guarded,
  instead,
  page,
} from "../../workflow-restate/test/fixtures/instead.ts";
import { missingServer } from "../../workflow-restate/test/fixtures/server.ts";
import { newFolder, playBundle, playStore, removeFolders, type Store } from "./program.ts";

setDefaultTimeout(120_000);

/* A cluster without workers, what may be in its place, and what may be in the place of its workers. */
let cluster: Cluster;
let store: Store;
/** One of the storage root, which waits. */
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
const of = (address: ClusterAddress, token?: string): Given => ({
  env: {
    UNCAGED_WORKFLOW_HOST: hostUrl(address),
    ...(token !== undefined && { UNCAGED_WORKFLOW_HOST_TOKEN: token }),
  },
});
const real = (): Given => of(cluster.address);

/** The cluster with something else in the place of both interfaces, or of one. */
function other(answer: Answer, names: ("ingress" | "admin")[] = ["ingress", "admin"]) {
  const address = { ...cluster.address };
  for (const name of names) {
    const server = instead(address[name], answer);
    servers.push(server);
    address[name] = `http://127.0.0.1:${server.port}`;
  }
  return address;
}

/** Commands that read, change, serve, work and move. */
const commands = (): string[][] => [
  ["threads"],
  ["run", "play", "--prompt", "go"],
  ["kill", thread],
  ["serve", "--port", "0"],
  ["worker", "--port", "0"],
  ["push", thread],
];

/** Has each command fail with a code in one line, as text and as JSON, and leave all as it is. */
async function refused(code: string, given: Given, all = commands()): Promise<void> {
  const before = store.tree();
  for (const [n, words] of all.entries()) {
    // Half of them each way: both ways are one function.
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
    ["nothing is there", "NO_CLUSTER", () => of({ ingress: closed, admin: closed, token: null })],
    ["the ingress is down", "HALF_CLUSTER", () => of({ ...cluster.address, ingress: closed })],
    [
      "the admin interface is down",
      "HALF_CLUSTER",
      () => of({ ...cluster.address, admin: closed }),
    ],
    ["the ingress is a page", "NOT_A_CLUSTER", () => of(other(page(200), ["ingress"]))],
    ["a gateway has lost the ingress", "NOT_A_CLUSTER", () => of(other(page(502), ["ingress"]))],
    ["the admin interface is a page", "NOT_A_CLUSTER", () => of(other(page(404), ["admin"]))],
    ["there is no token", "BAD_TOKEN", () => of(other(guarded("right")))],
    ["the token is wrong", "BAD_TOKEN", () => of(other(guarded("right")), "wrong")],
  ];
  test.each(cases)("where %s: %s", async (_where, code, given) => {
    await refused(code, given());
  });

  test("where the right token is given, and there is no worker: NO_WORKERS", async () => {
    const given = of(other(guarded("right")), "right");
    await refused(
      "NO_WORKERS",
      given,
      commands().filter(([name]) => name !== "worker"),
    );
  });
});

/** Registers a program that serves a `thread` of its own, and takes it away again. Gives what it was called. */
async function besides(metadata: object | null, act: () => Promise<void>): Promise<string> {
  const program = join(import.meta.dir, "../../workflow-restate/test/fixtures/other.ts");
  const words = [program, ...(metadata ? [JSON.stringify(metadata)] : [])];
  const child = Bun.spawn([process.execPath, ...words], { stdin: "ignore", stdout: "pipe" });
  children.push(child);
  const reader = child.stdout.getReader();
  const port = new TextDecoder().decode((await reader.read()).value).trim();
  await registerWorker(cluster.address, `http://127.0.0.1:${port}`);
  const before = await clusterState(cluster.address);
  await act();
  expect(await clusterState(cluster.address)).toEqual(before);
  for (const { id } of before.deployments) {
    await fetch(`${cluster.address.admin}/deployments/${id}?force=true`, { method: "DELETE" });
  }
  child.kill("SIGKILL");
  return (await reader.read()).value?.toString() ?? "";
}

/** A worker by the command line, when it serves. `port`: where another one has served. */
async function worker(port = 0) {
  const cache = newFolder();
  const words = ["worker", "--port", `${port}`, "--cache", cache, "--json"];
  const child = store.start(words, real());
  children.push(child);
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  const at = JSON.parse(new TextDecoder().decode(value)) as { port: number };
  return {
    port: at.port,
    /** Ends it at once, and gives the problems that it has reported. */
    async kill(): Promise<string[]> {
      child.kill("SIGKILL");
      let text = "";
      for (let all = await reader.read(); !all.done; all = await reader.read()) {
        text += Buffer.from(all.value).toString();
      }
      const lines = text.split("\n").filter(Boolean);
      return lines.map((line) => (JSON.parse(line) as { problem: string }).problem);
    },
  };
}

type Thread = { threadId: string; status: string };

/**
 * Runs a command on the cluster, and again where no worker has answered it: a cluster that has lost its only worker calls
 * the next one when it tries again, and a busy machine may take longer for that than a command waits.
 */
async function answered(words: string[]) {
  let ended = await store.run(words, real());
  await until(async () => {
    if (!ended.stderr.startsWith("error: no worker answered")) return true;
    ended = await store.run(words, real());
    return false;
  });
  return ended;
}

onCluster(`in the place of our workers${missingServer}`, () => {
  test("another program's service with a name of ours is refused, and not called", async () => {
    const called = await besides(null, () => refused("FOREIGN_SERVICES", real()));
    expect(called).toBe("");
  });

  test("workers of another format are refused, and not called", async () => {
    const metadata = { ...serviceMetadata, format: "99" };
    const called = await besides(metadata, () => refused("CLUSTER_VERSION", real()));
    expect(called).toBe("");
  });

  test("workers that are lost, or have no bundle, are named in one line, and nothing is lost", async () => {
    const first = await worker();
    await store.ok(["add", "play", playBundle], real());
    const shown = (id: string) => store.json<Thread>(["thread", id], real());
    const waits = await store.ok(["run", "play", "--params", '{"ask":2}'], real());
    await until(async () => (await shown(waits)).status === "waiting");
    await first.kill();

    // What reads needs no worker; what changes says in time that there is none, and that it may still have its effect.
    expect(await shown(waits)).toMatchObject({ status: "waiting" });
    const { code, stderr } = await store.run(["run", "play", "--prompt", "go"], real());
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^error: no worker answered [^\n]+ --thread-id \w{26}\n$/),
    ]);
    const begun = /--thread-id (\w{26})/.exec(stderr)?.[1] ?? "";

    // The next worker has nothing, and the cluster lacks the bundle.
    const [{ hash }] = await store.json<[{ hash: string }]>(["list"], real());
    const second = await worker(first.port);
    const again = ["run", "play", "--prompt", "go", "--thread-id", begun, "--wait", "-q"];
    expect(await answered(again)).toMatchObject({ code: 0, stdout: `${begun}\n` });
    await second.kill();
    const third = await worker(first.port);
    const client = new ClusterClient(cluster.address);
    const before = Number.MAX_SAFE_INTEGER;
    await client.call("bundle", hash, "discard", { before });
    await client.call("bundle", hash, "remove", { before });
    await answered(["resume", waits, "--input", "yes"]);
    await until(async () => (await shown(waits)).status === "interrupted");
    expect(await answered(["add", "play", playBundle])).toMatchObject({ code: 0 });
    await until(async () => (await shown(waits)).status === "completed");
    expect(await third.kill()).toEqual([
      expect.stringMatching(/^\w{26} can't be driven: [^\n]+ \(BUNDLE_MISSING\); hint: /),
    ]);
  });
});
