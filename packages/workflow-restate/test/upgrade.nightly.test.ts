// @cluster: starts a server, and workers of two versions
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { settled, type ThreadRef } from "@uncaged/workflow/host";
import { until } from "../../workflow/test/fixtures/until.ts";
import { checkWorkers } from "../src/entry/cluster.ts";
import type { RestateHost } from "../src/entry/index.ts";
import { TestCluster, type WorkerProcess } from "./fixtures/cluster.ts";
import { missingServer } from "./fixtures/server.ts";

let cluster: TestCluster;
let host: RestateHost;

beforeAll(async () => {
  if (missingServer !== "") return;
  cluster = await TestCluster.start();
  host = cluster.open();
});
afterAll(async () => {
  if (missingServer === "") await cluster.stop();
});

/** Builds the program of the workers with another version in the services' metadata. */
async function nextVersion(): Promise<string> {
  const names: Bun.BunPlugin = {
    name: "names",
    setup: (builder) => {
      builder.onLoad({ filter: /cluster\/names\.ts$/ }, ({ path }) => ({
        contents: readFileSync(path, "utf8").replace('format: "', 'version: "next", format: "'),
        loader: "ts",
      }));
    },
  };
  const entrypoints = [join(import.meta.dir, "fixtures/worker.ts")];
  const outdir = join(cluster.folder, "next");
  const { outputs } = await Bun.build({ entrypoints, outdir, target: "bun", plugins: [names] });
  return outputs.find(({ kind }) => kind === "entry-point")?.path ?? "";
}

/** A bundle that writes each step and its process to a file. Yields steps until a gate opens, and then a few more. */
const noting = `
import { appendFileSync, existsSync } from "node:fs";
export const descriptor = { description: "notes what it does", roles: {} };
export async function* run(input, options) {
  const isAsked = options.asks && input.steps.length === 0;
  if (isAsked) yield { role: "__wait__", content: "go on?", meta: { for: "word" } };
  let n = isAsked ? 2 : input.steps.length;
  for (let left = 3; left > 0; n += 1) {
    appendFileSync(options.notes, options.threadId + " " + n + " " + process.pid + "\\n");
    await new Promise((resolve) => setTimeout(resolve, 150));
    if (existsSync(options.gate)) left -= 1;
    yield { role: "count", content: String(n), meta: {} };
  }
  return { returnCode: 0, summary: "done" };
}`;

describe.skipIf(missingServer !== "")(`an upgrade of all workers${missingServer}`, () => {
  test("completes running, waiting and paused threads, and repeats no step", async () => {
    const old = [await cluster.work({ register: false }), await cluster.work({ register: false })];
    cluster.use(old);
    await cluster.register();
    const notes = join(cluster.folder, "notes");
    writeFileSync(notes, "");
    const workflow = await cluster.put(host, noting);
    const gate = join(cluster.folder, "gate");
    const start = (more: object = {}) => {
      const options = { notes, gate, ...more };
      return host.start({ workflow, cwd: "/", env: {}, maxRounds: 1000, options });
    };
    const asks = await start({ asks: true });
    const paused = await start();
    await host.control(paused, { kind: "pause" });
    await until(async () => (await host.read(asks)).status === "waiting");
    await until(async () => (await host.read(paused)).status === "paused");
    const running: ThreadRef[] = [];
    for (let n = 0; n < 12; n += 1) running.push(await start());
    const program = await nextVersion();
    const fresh: WorkerProcess[] = [];
    for (const [index, { child }] of old.entries()) {
      fresh.push(await cluster.work({ register: false, program }));
      cluster.use([...old.slice(index), ...fresh]);
      await cluster.register({ force: true });
      child.kill("SIGTERM");
      expect(await child.exited).toBe(0);
    }
    cluster.use(fresh);
    await checkWorkers(cluster.cluster.address);
    writeFileSync(gate, "");
    await host.control(paused, { kind: "resume", env: {} });
    await host.control(asks, { kind: "answer", input: { content: "yes" }, env: {} });
    const lines = () => readFileSync(notes, "utf8").trim().split("\n");
    const last: (string | undefined)[] = [];
    for (const ref of [...running, paused, asks]) {
      const view = await settled(host, ref);
      expect(view.status).toBe("completed");
      const own = lines().flatMap((line) => {
        const [threadId, n, pid] = line.split(" ");
        return threadId === ref.threadId ? [{ n, pid }] : [];
      });
      const counted = view.steps.flatMap(({ role, content }) => (role === "count" ? content : []));
      expect(own.map(({ n }) => n)).toEqual(counted);
      last.push(own.at(-1)?.pid);
    }
    // Each running thread continued on the new version.
    const pids = new Set(fresh.map(({ child }) => `${child.pid}`));
    expect(last.filter((pid) => !pids.has(pid ?? ""))).toEqual([]);
    expect(await host.live()).toEqual([]);
    expect((await host.verify()).problems).toEqual([]);
  });
});
