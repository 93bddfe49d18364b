// @cluster: starts a server and kills a worker
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { retryOptions, settled } from "@uncaged/workflow/host";
import type { RestateHost } from "../src/entry/index.ts";
import { TestCluster } from "./fixtures/cluster.ts";
import { missingServer } from "./fixtures/server.ts";

/** A bundle that records three entries under a key. While a file exists, it exits or fails after the second entry. */
const recording = `
import { existsSync, rmSync } from "node:fs";
export const descriptor = { description: "records", roles: {} };
export async function* run(input, { journal, file, how }) {
  const known = await journal.read("key");
  for (let n = known.length; n < 3; n += 1) {
    const kept = await journal.record("key", { n, text: String(n).repeat(20000) });
    if (!kept) throw new Error("not recorded");
    if (n !== 1 || !existsSync(file)) continue;
    rmSync(file);
    if (how === "die") process.kill(process.pid, "SIGKILL");
    throw new Error("failed");
  }
  const content = known.map(({ entry, failed }) => entry.n + " " + entry.text.length + " " + failed);
  yield { role: "known", content: content.join(), meta: {} };
  return { returnCode: 0, summary: "done" };
}`;

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

async function start(how: "die" | "fail") {
  const hash = await cluster.put(host, recording);
  const file = join(cluster.folder, how);
  writeFileSync(file, "");
  return await host.start({ workflow: hash, cwd: "/", env: {}, options: { file, how } });
}

describe.skipIf(missingServer !== "")(`the journal of a step${missingServer}`, () => {
  test("is read by the next worker after a takeover", async () => {
    const ref = await start("die");
    const { status, steps } = await settled(host, ref);
    expect([status, steps.map(({ content }) => content)]).toEqual([
      "completed",
      ["0 20000 false,1 20000 false"],
    ]);
  });

  test("is read by a retry of its thread", async () => {
    const ref = await start("fail");
    expect((await settled(host, ref)).status).toBe("failed");
    const fork = await host.fork(ref, retryOptions(await host.read(ref), { env: {} }));
    const { status, steps } = await settled(host, fork);
    expect([status, steps.map(({ content }) => content)]).toEqual([
      "completed",
      ["0 20000 true,1 20000 true"],
    ]);
  });
});
