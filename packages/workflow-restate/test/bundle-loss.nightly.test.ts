// @cluster: starts a server, and workers without a cached bundle
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ThreadRef } from "@uncaged/workflow/host";
import { twinOf } from "../../workflow/test/fixtures/twin.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { ClusterClient } from "../src/client/client.ts";
import { frame, numbered } from "../src/client/frame.ts";
import type { RestateHost } from "../src/entry/index.ts";
import { sha256 } from "../src/mirror/bundles.ts";
import { TestCluster } from "./fixtures/cluster.ts";
import { missingServer } from "./fixtures/server.ts";

let cluster: TestCluster;
let host: RestateHost;
beforeAll(async () => {
  if (missingServer !== "") return;
  cluster = await TestCluster.balanced(1);
  host = cluster.open();
});
afterAll(async () => {
  if (missingServer === "") await cluster.stop();
});

/** Replaces all workers by a new worker with an empty cache. */
const next = async () => cluster.use([await cluster.work({ register: false })]);

const asking = (note: string) => `export const descriptor = { description: "asks", roles: {} };
export async function* run(input) {
  if (input.steps.length === 0) yield { role: "__wait__", content: "go on?", meta: { for: "go" } };
  yield { role: "goes", content: "${note}", meta: {} };
  return { returnCode: 0, summary: "" };
}`;

const statusOf = async (ref: ThreadRef) => (await host.read(ref)).status;
const noted = () =>
  readFileSync(join(cluster.folder, `worker-${cluster.workers.length - 1}.log`), "utf8");

describe.skipIf(missingServer !== "")(`a bundle${missingServer}`, () => {
  const spoil = {
    async missing(client: ClusterClient, hash: string) {
      const before = Number.MAX_SAFE_INTEGER;
      await client.call("bundle", hash, "discard", { before });
      await client.call("bundle", hash, "remove", { before });
    },
    damaged: (client: ClusterClient, hash: string) =>
      client.call("bundle", hash, "piece", frame({ key: numbered("code", 0) }, [Buffer.from("x")])),
  };
  const codes = { missing: "BUNDLE_MISSING", damaged: "BUNDLE_CHANGED" };

  test.each(["missing", "damaged"] as const)(
    "is reported as %s in one line, and its thread continues after the bundle is added again",
    async (how) => {
      const text = asking(how);
      const hash = await cluster.put(host, text);
      const ref = await host.start({ workflow: hash, cwd: "/", env: {} });
      await until(async () => (await statusOf(ref)) === "waiting");
      await spoil[how](new ClusterClient(cluster.cluster.address), hash);
      await next();
      await host.control(ref, { kind: "answer", input: { content: "yes" }, env: {} });
      await until(async () => (await statusOf(ref)) === "interrupted");
      const lines = noted().trim().split("\n");
      expect(lines).toEqual([expect.stringContaining(`${ref.threadId} can't be driven: `)]);
      expect(lines[0]).toContain(`(${codes[how]}); hint: `);
      await cluster.put(host, text);
      await until(async () => (await statusOf(ref)) === "completed");
      expect((await host.read(ref)).steps.at(-1)?.content).toBe(how);
    },
  );

  test.each(["file", "record", "file without a record"])(
    "with the hash of another bundle never runs: a forged %s",
    async (forged) => {
      const text = asking(forged);
      const hash = await cluster.put(host, text);
      const ref = await host.start({ workflow: hash, cwd: "/", env: {} });
      await until(async () => (await statusOf(ref)) === "waiting");
      const mark = join(cluster.folder, `ran: ${forged}`);
      const marks = `import { writeFileSync } from "node:fs";
writeFileSync(${JSON.stringify(mark)}, "");
${text}`;
      const twin = twinOf(Buffer.from(text), marks);
      const client = new ClusterClient(cluster.cluster.address);
      const write = (name: string, bytes: Uint8Array) =>
        client.call("bundle", hash, "piece", frame({ key: numbered(name, 0) }, [bytes]));
      await write("code", twin);
      if (forged !== "file") {
        await write("descriptor", Buffer.from("description: asks\nroles: {}\n"));
        const sum = forged === "record" ? { sha256: sha256(twin) } : {};
        const files = ["descriptor", "code"].map((name) => ({ name, pieces: 1 }));
        await client.call("bundle", hash, "seal", { bytes: twin.length, ...sum, files });
      }
      await next();
      await host.control(ref, { kind: "answer", input: { content: "yes" }, env: {} });
      await until(async () => (await statusOf(ref)) === "interrupted");
      expect(noted()).toContain("(BUNDLE_CHANGED); hint: ");
      expect(existsSync(mark)).toBe(false);
      await spoil.missing(client, hash);
      await cluster.put(host, text);
      await until(async () => (await statusOf(ref)) === "completed");
      expect((await host.read(ref)).steps.at(-1)?.content).toBe(forged);
      expect(existsSync(mark)).toBe(false);
    },
  );
});
