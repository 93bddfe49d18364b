// @postgres: starts a server, kills it, and starts it again
import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { missingPostgres, PostgresServer } from "../../workflow-postgres/test/fixtures/server.ts";
import { removeFolders, Store } from "./program.ts";

const store = new Store();
const slow = `export const descriptor = { description: "slow", roles: {} };
export async function* run({ steps }) {
  for (let n = steps.length; n < 20; n += 1) {
    await new Promise((done) => setTimeout(done, 200));
    yield { role: "slow", content: "step " + n, meta: {} };
  }
  return { returnCode: 0, summary: "done" };
}`;

describe.skipIf(missingPostgres !== "")(`while a database is down${missingPostgres}`, () => {
  afterAll(removeFolders);

  test("follow and run --wait wait for the database; without a worker they name the command that starts one", async () => {
    const server = await PostgresServer.start();
    const env = { UNCAGED_WORKFLOW_HOST: server.url() };
    const file = join(store.folder, "slow.esm.js");
    writeFileSync(file, slow);
    await store.ok(["add", "slow", file], { env });
    const worker = store.start(["worker"], { env });
    try {
      const watched = ["--follow", "--wait"].map((way) =>
        store.start(["run", "slow", way], { env }),
      );
      const [reader] = watched.map(({ stdout }) => stdout.getReader());
      let shown = "";
      while (!shown.includes("step 2")) {
        const { value, done } = (await reader?.read()) ?? { done: true };
        if (done) throw new Error(`the command ended: ${shown}`);
        shown += new TextDecoder().decode(value);
      }
      await server.kill();
      expect((await store.run(["list"], { env })).code).toBe(1);
      await server.restart();
      expect(await Promise.all(watched.map(({ exited }) => exited))).toEqual([0, 0]);
      worker.kill("SIGTERM");
      await worker.exited;
      const { code, stderr } = await store.run(["run", "slow", "--wait"], { env });
      expect([code, stderr.split("\n").at(-2)]).toEqual([
        1,
        "no worker drives it; start one: uncaged-workflow worker",
      ]);
    } finally {
      worker.kill("SIGKILL");
      await server.remove();
    }
  }, 180_000);
});
