// @cluster: starts a server and workers.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../workflow/test/fixtures/until.ts";
import { missingServer } from "../../workflow-restate/test/fixtures/server.ts";
import { newFolder, playBundle, removeFolders, Store } from "./program.ts";

type Up = { host: string; uri: string; pids: Pids };
type Pids = { servers: number[]; workers: number[]; balancer: number };
type Row = { threadId: string; status: string; pid: number; steps: number };

const store = new Store();
let up: Up;
let env: Record<string, string>;

const isAlive = (pid: number): boolean => {
  const { stdout } = Bun.spawnSync(["ps", "-o", "stat=", "-p", `${pid}`]);
  return /^[^Z\s]/.test(stdout.toString().trim());
};

const onCluster = describe.skipIf(missingServer !== "");

beforeAll(async () => {
  if (missingServer !== "") return;
  up = await store.json<Up>(["cluster", "up", "--workers", "2"]);
  env = { UNCAGED_WORKFLOW_HOST: up.host };
  await store.ok(["add", "play", playBundle], { env });
});
afterAll(async () => {
  if (missingServer !== "") return removeFolders();
  await store.ok(["cluster", "down", "--data"]);
  const left = [...up.pids.servers, ...up.pids.workers].filter(isAlive);
  removeFolders();
  expect(left).toEqual([]);
});

const json = <T>(...args: string[]): Promise<T> => store.json<T>(args, { env });
const play = (params: object, ...args: string[]): Promise<string> =>
  store.ok(["run", "play", "--params", JSON.stringify(params), ...args], { env });

/** Starts a thread that waits before a step until `open` is called. */
async function gated(before: number, params: object = {}) {
  const path = join(newFolder(), "gate");
  const id = await play({ ...params, gate: { before, path } });
  await until(
    async () => (await json<{ steps: unknown[] }>("thread", id)).steps.length >= before - 1,
  );
  return { id, open: () => writeFileSync(path, "") };
}

onCluster(`on a cluster of this machine${missingServer}`, () => {
  test("a thread runs, is listed, shown, followed and forked as in a storage root", async () => {
    const done = await json<{ threadId: string; status: string }>(
      ...["run", "play", "--prompt", "go", "--wait"],
    );
    expect(done.status).toBe("completed");
    const { threadId } = done;
    const thread = await json<{ prompt: string; steps: { role: string }[] }>("thread", threadId);
    expect(thread.prompt).toBe("go");
    expect(thread.steps.map(({ role }) => role)).toEqual(["planner", "coder", "coder"]);
    expect((await json<Row[]>("threads")).map((row) => row.threadId)).toContain(threadId);
    expect(await store.ok(["follow", threadId], { env })).toEndWith("completed: played");
    const fork = await store.ok(["fork", threadId, "--at-step", "1", "--wait", "-q"], { env });
    expect((await json<{ same: boolean }>("diff", threadId, fork)).same).toBe(true);
    expect(await json<object>("verify")).toMatchObject({ problems: [] });
    // The storage root contains none of this data.
    expect(existsSync(join(store.root, "logs"))).toBe(false);
  });

  test("a stopped server deletes all temporary files", async () => {
    const TMPDIR = newFolder();
    const server = store.start(["serve", "--port", "0", "--json"], { env: { ...env, TMPDIR } });
    const { value } = await server.stdout.getReader().read();
    expect(JSON.parse(new TextDecoder().decode(value))).toMatchObject({ root: up.host });
    const read = () => readdirSync(TMPDIR).filter((name) => name.startsWith("uncaged-cluster-"));
    expect(read()).toHaveLength(1);
    server.kill("SIGTERM");
    expect(await server.exited).toBe(0);
    expect(read()).toEqual([]);
  });

  test("threads continue after the cluster is stopped and started again", async () => {
    const { id, open } = await gated(2);
    await store.ok(["cluster", "down"]);
    expect([...up.pids.servers, ...up.pids.workers].filter(isAlive)).toEqual([]);
    const { code, stderr } = await store.run(["threads"], { env });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining("no cluster answers"),
    });
    const { host, pids } = await store.json<Up>(["cluster", "up", "--workers", "1"]);
    expect(host).toBe(up.host);
    up.pids = pids;
    open();
    await until(async () => (await json<Row>("thread", id)).status === "completed");
  });
});

onCluster(`the start of a cluster${missingServer}`, () => {
  const other = new Store();
  const started = async () => {
    const { code, stderr } = await other.run(["cluster", "up", "--workers", "0"]);
    return { code, line: stderr };
  };
  const folder = join(other.root, "cluster");
  const start = () => other.json<Up>(["cluster", "up", "--workers", "0"]);
  const down = (...args: string[]) => other.ok(["cluster", "down", ...args]);
  afterAll(() => down("--data"));

  test("succeeds once when two commands start it simultaneously", async () => {
    const both = await Promise.all([started(), started()]);
    expect(both.map(({ code }) => code).toSorted((a, b) => a - b)).toEqual([0, 1]);
    const line = both.find(({ code }) => code === 1)?.line ?? "";
    expect(line).toMatch(/^error: (another command starts|a cluster already runs)[^\n]*\n$/);
    await down();
  });

  test("fails with one line if another program listens on the workers' port", async () => {
    const [port = 0] = JSON.parse(readFileSync(join(folder, "fronts.json"), "utf8")) as number[];
    const server = Bun.listen({ hostname: "127.0.0.1", port, socket: { data: () => undefined } });
    const { code, line } = await started();
    server.stop(true);
    expect([code, line]).toEqual([
      1,
      expect.stringMatching(/^error: another program uses port \d+ [^\n]*\n$/),
    ]);
    expect((await other.run(["cluster", "status"])).code).toBe(4);
  });

  test("fails with one line while a part of the cluster runs, and keeps the data after that part ends", async () => {
    const before = await start();
    const { balancer } = before.pids;
    process.kill(balancer, "SIGKILL");
    await until(() => !isAlive(balancer));
    const { code, line } = await started();
    expect([code, line]).toEqual([1, expect.stringContaining("a part of a cluster (1 of 2 ")]);
    await down();
    const { host, pids } = await start();
    expect(host).toBe(before.host);
    for (const pid of [...pids.servers, pids.balancer]) process.kill(pid, "SIGKILL");
    await until(() => ![...pids.servers, pids.balancer].some(isAlive));
    expect((await start()).host).toBe(before.host);
    await down("--data");
  });

  test("fails with one line if its folder can't be created", async () => {
    writeFileSync(folder, "");
    const { code, line } = await started();
    expect([code, line]).toEqual([
      1,
      expect.stringMatching(/^error: can't make the folder [^\n]*\n$/),
    ]);
    rmSync(folder);
  });
});

onCluster(`the host of a command${missingServer}`, () => {
  const named = async (args: string[], given: Record<string, string> = {}) => {
    const { code, stderr } = await store.run(args, { env: given });
    return { code, line: stderr };
  };

  test("comes from --host, the environment or the project, in this order, and not together with --root", async () => {
    const other = { UNCAGED_WORKFLOW_HOST: "restate://127.0.0.1:1" };
    expect((await named(["list", "--host", up.host], other)).code).toBe(0);
    expect((await named(["list"], other)).line).toContain(
      "no cluster answers at http://127.0.0.1:1",
    );
    expect((await named(["list", "--root", store.root], other)).code).toBe(0);
    const both = await named(["list", "--root", store.root, "--host", up.host]);
    expect(both).toMatchObject({ code: 2, line: expect.stringContaining("both given") });
    const cwd = newFolder();
    writeFileSync(join(cwd, "uncaged.json"), JSON.stringify({ host: up.host }));
    const inProject = { cwd, env: { UNCAGED_WORKFLOW_STORAGE_ROOT: "" } };
    expect((await store.json<{ name: string }[]>(["list"], inProject))[0]?.name).toBe("play");
  });

  test("can be a cluster only for some commands; other commands and invalid values are refused in one line", async () => {
    for (const args of [["dev", "x.ts"], ["doctor"], ["plan", "secret", "list"]]) {
      const { code, line } = await named(args, env);
      expect(code).toBe(2);
      expect(line).toMatch(/^error: [a-z ]+ does not work on a cluster[^\n]*\n$/);
    }
    const wrong = await named(["list", "--host", "ftp://127.0.0.1"]);
    expect(wrong).toMatchObject({
      code: 2,
      line: expect.stringMatching(/^error: .*not the URL[^\n]*\n$/),
    });
    expect((await named(["worker"])).code).toBe(2);
    for (const advertise of ["here", "here:0", "http://here:9081"]) {
      expect(await named(["worker", "--host", up.host, "--advertise", advertise])).toMatchObject({
        code: 2,
        line: expect.stringMatching(
          /^error: --advertise "[^\n]*" is not a host with a port[^\n]*\n$/,
        ),
      });
    }
    expect((await named(["cluster", "up"])).line).toContain("a cluster already runs");
  });
});
