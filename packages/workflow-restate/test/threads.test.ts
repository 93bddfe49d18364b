// @cluster: starts a server and kills a worker
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { settled, type StartOptions, type ThreadRef } from "@uncaged/workflow/host";
import { codeOf, until } from "../../workflow/test/fixtures/until.ts";
import { ClusterClient } from "../src/client/client.ts";
import type { RestateHost } from "../src/entry/index.ts";
import { TestCluster } from "./fixtures/cluster.ts";
import { missingServer } from "./fixtures/server.ts";

let cluster: TestCluster;
let host: RestateHost;

beforeAll(async () => {
  if (missingServer !== "") return;
  cluster = await TestCluster.balanced(2);
  host = cluster.open();
});
afterAll(async () => {
  if (missingServer === "") await cluster.stop();
});

const bundle = (body: string): string => `import { appendFileSync, writeFileSync } from "node:fs";
export const descriptor = { description: "of a test", roles: {} };
export async function* run(input, options) {
  const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const step = (role, content = role, meta = {}) => ({ role, content, meta });
  ${body}
  return { returnCode: 0, summary: "done" };
}`;

async function start(body: string, options: Partial<StartOptions> = {}): Promise<ThreadRef> {
  const workflow = await cluster.put(host, bundle(body));
  return await host.start({ workflow, cwd: "/", env: {}, ...options });
}

const kill = (ref: ThreadRef) => host.control(ref, { kind: "kill" });
const answer = (ref: ThreadRef, content: string) =>
  host.control(ref, { kind: "answer", input: { content }, env: {} });

describe.skipIf(missingServer !== "")(`a thread in a cluster${missingServer}`, () => {
  test("aborts its role when it is killed, even a role that yields nothing", async () => {
    const [begun, aborted] = ["begun", "aborted"].map((name) => join(cluster.folder, name));
    const body = `
      writeFileSync(options.begun, "");
      await new Promise((resolve) => options.signal.addEventListener("abort", resolve));
      writeFileSync(options.aborted, "");
      yield step("late");`;
    const ref = await start(body, { options: { begun, aborted } });
    await until(() => existsSync(begun ?? ""));
    await kill(ref);
    await until(() => existsSync(aborted ?? ""));
    const view = await host.read(ref);
    expect([view.status, view.steps]).toEqual(["killed", []]);
  });

  test("sleeps, and continues at the given time", async () => {
    const body = `
      if (input.steps.length === 0) {
        yield step("__wait__", "", { for: "tea", sleep: true, expiresAt: Date.now() + 300 });
      }
      yield step("awake");`;
    const view = await settled(host, await start(body));
    expect(view.steps.map(({ role }) => role)).toEqual(["__wait__", "__input__", "awake"]);
    expect(view.steps[1]?.meta).toEqual({ for: "tea", timedOut: true, sleep: true });
  });

  test("continues with the default of a question after its timeout", async () => {
    const body = `
      if (input.steps.length === 0) {
        const expiresAt = Date.now() + 300;
        yield step("__wait__", "may I?", { for: "leave", expiresAt, onTimeout: "no" });
      }
      yield step("heard", String(input.steps.at(-1).meta.value));`;
    const ref = await start(body);
    await until(async () => (await host.read(ref)).status === "completed");
    expect((await host.read(ref)).steps.at(-1)?.content).toBe("no");
  });

  test("keeps its blobs when it continues", async () => {
    const body = `
      if (input.steps.length === 0) {
        const id = await options.blobs.put(new TextEncoder().encode("kept"));
        yield step("__wait__", "go on?", { for: "word", id });
      }
      const { id } = input.steps[0].meta;
      const text = new TextDecoder().decode(await options.blobs.get(id));
      yield step("has", text, { isListed: (await options.blobs.ids()).includes(id) });`;
    const ref = await start(body);
    await until(async () => (await host.read(ref)).status === "waiting");
    await answer(ref, "yes");
    const last = (await settled(host, ref)).steps.at(-1);
    expect([last?.content, last?.meta]).toEqual(["kept", { isListed: true }]);
  });

  test("accepts a step of 30 MB and refuses a step of 40 MB", async () => {
    const body = `
      for (const size of [30, 40].slice(input.steps.length)) {
        yield step("large", "x".repeat(size * 1024 * 1024));
      }`;
    const view = await settled(host, await start(body));
    expect(view.steps.map(({ content }) => content.length)).toEqual([30 * 1024 * 1024]);
    expect(view.status === "failed" && view.error?.code).toBe("RECORD_TOO_LARGE");
  });
});

describe.skipIf(missingServer !== "")(`a thread whose worker is killed${missingServer}`, () => {
  test("continues on another worker and repeats no committed step", async () => {
    const notes = join(cluster.folder, "notes");
    const body = `
      for (let n = input.steps.length; n < 20; n += 1) {
        appendFileSync(options.notes, n + " " + process.pid + "\\n");
        await sleep(100);
        yield step("count", String(n));
      }`;
    const noted = () =>
      (existsSync(notes) ? readFileSync(notes, "utf8").trim().split("\n") : []).map((line) => {
        const [n, pid] = line.split(" ").map(Number);
        return { n, pid };
      });
    const ref = await start(body, { options: { notes } });
    await until(() => noted().length > 5);
    const live = (await host.live()).find(({ threadId }) => threadId === ref.threadId);
    const driver = cluster.workers.find(({ child }) => child.pid === live?.pid);
    driver?.child.kill("SIGKILL");
    const view = await settled(host, ref, { signal: AbortSignal.timeout(60_000) });
    expect(view.status).toBe("completed");
    expect(view.steps.map(({ content }) => Number(content))).toEqual([...Array(20).keys()]);
    expect(new Set(noted().map(({ pid }) => pid)).size).toBe(2);
    // Only the step in progress is repeated.
    expect(noted().length).toBeLessThanOrEqual(21);
  });
});

describe.skipIf(missingServer !== "")(`the workflows of a cluster${missingServer}`, () => {
  const files = ["one", "two", "three"].map((content) => {
    return { content, text: bundle(`yield step("a", "${content}");`) };
  });

  test("can be registered, rolled back and listed by every host", async () => {
    const other = cluster.open();
    const paths = files.map(({ content, text }) => {
      const path = join(cluster.folder, `${content}.esm.js`);
      writeFileSync(path, text);
      return path;
    });
    const [one = "", two = "", three = ""] = paths;
    const first = await host.register("greet", one);
    const second = await other.register("greet", two);
    expect((await host.workflow("greet")).hash).toBe(second.hash);
    expect(await codeOf(host.register("greet", three, { expected: first.hash }))).toBe(
      "VERSION_CONFLICT",
    );
    expect(await codeOf(host.register("Greet", three))).toBe("NAME_TAKEN");
    const rolled = await other.rollback("greet");
    expect([rolled.hash, rolled.previous]).toEqual([first.hash, second.hash]);
    const ref = await host.start({ workflow: "greet", cwd: "/", env: {} });
    expect((await settled(host, ref)).steps.map(({ content }) => content)).toEqual(["one"]);
    expect((await other.history("greet")).map(({ threads }) => threads)).toEqual([0, 1]);
    expect((await host.workflows()).map(({ name }) => name)).toEqual(["greet"]);
    expect(await other.source("greet")).toBe(files[0]?.text ?? "");
    await host.unregister("greet");
    expect(await codeOf(other.resolve("greet"))).toBe("WORKFLOW_NOT_FOUND");
  });

  test("lose neither of two concurrent changes", async () => {
    const other = cluster.open();
    const path = join(cluster.folder, "one.esm.js");
    await Promise.all([host.register("left", path), other.register("right", path)]);
    expect((await host.workflows()).map(({ name }) => name)).toEqual(["left", "right"]);
  });

  test("refuse an ambiguous hash prefix", async () => {
    const client = new ClusterClient(cluster.cluster.address);
    const hashes = ["AB00000000001", "AB00000000002"];
    const info = { bytes: 0, files: [] };
    for (const hash of hashes) await client.call("bundle", hash, "seal", info);
    expect(await codeOf(host.resolve("ab00"))).toBe("VERSION_AMBIGUOUS");
    expect(await codeOf(host.threads({ workflow: "ab00" }))).toBe("VERSION_AMBIGUOUS");
    const before = Date.now() + 1000;
    for (const hash of hashes) await client.call("bundle", hash, "discard", { before });
    expect((await host.threads({ workflow: "ab00" })).rows).toEqual([]);
  });

  test("are valid, and gc keeps bundles that a thread or a name needs", async () => {
    const { problems, checked } = await host.verify();
    expect(problems).toEqual([]);
    const kept = checked.bundles;
    expect(await host.collect()).toMatchObject({ removed: [], kept });
    const inAYear = Date.now() + 365 * 86_400_000;
    const { removed } = await host.collect({ now: inAYear, dryRun: true });
    const needed = (await host.threads({ limit: 100 })).rows.map(({ hash }) => hash);
    expect(removed.filter((hash) => needed.includes(hash))).toEqual([]);
    expect(removed.length).toBeGreaterThan(0);
  });
});
