// @cluster: starts a server and a worker.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../workflow/test/fixtures/until.ts";
import { missingServer } from "../../workflow-restate/test/fixtures/server.ts";
import { removeFolders, Store } from "./program.ts";

const store = new Store();
let host: string;

type Thread = { threadId: string; status: string; movedTo?: string; steps: unknown[] };

beforeAll(async () => {
  if (missingServer !== "") return;
  ({ host } = await store.json<{ host: string }>(["cluster", "up", "--workers", "1"]));
});
afterAll(async () => {
  if (missingServer === "") await store.ok(["cluster", "down", "--data"]);
  removeFolders();
});

const asks = `export const descriptor = { description: "asks", roles: {} };
export async function* run(input) {
  const step = (role, content, meta = {}) => ({ role, content, meta });
  if (input.steps.length === 0) yield step("note", "begun");
  if (input.steps.length < 2) yield step("__wait__", "go on?", { for: "word" });
  yield step("heard", "yes");
  return { returnCode: 0, summary: "done" };
}`;

const refusal = async (...args: string[]) => {
  const { code, stderr } = await store.run(args);
  return { code, stderr };
};

test("push and pull need a running cluster", async () => {
  for (const way of ["push", "pull"]) {
    expect(await refusal(way, "@last")).toEqual({
      code: 2,
      stderr: `error: ${way} needs a cluster or a database; hint: name it: --host restate://host:port or --host postgres://user@host/database\n`,
    });
    const { code, stderr } = await store.run([way, "@last", "--host", "restate://127.0.0.1:1"]);
    expect([code, stderr.split("\n").length]).toEqual([1, 2]);
  }
});

describe.skipIf(missingServer !== "")(
  `between a storage root and a cluster${missingServer}`,
  () => {
    test("a thread moves to the cluster, is refused here, and returns with its new steps", async () => {
      const file = join(store.folder, "asks.esm.js");
      writeFileSync(file, asks);
      await store.ok(["add", "asks", file]);
      const { threadId } = await store.json<Thread>(["run", "asks"]);
      const there = ["--host", host];
      const thread = (...where: string[]) => store.json<Thread>(["thread", threadId, ...where]);
      await until(async () => (await thread()).status === "waiting");
      const pushed = await store.json(["push", threadId, ...there]);
      expect(pushed).toMatchObject({ threadId, to: host, moved: true, status: "waiting" });
      expect(await thread()).toMatchObject({ status: "moved", movedTo: host });
      expect(await store.ok(["threads"])).toContain("moved");
      const changes = [
        ["resume", threadId],
        ["resume", threadId, "--input", "yes"],
        ["pause", threadId],
        ["kill", threadId],
        ["retry", threadId],
        ["push", threadId, "--host", host, "--root", join(store.folder, "none")],
      ];
      const codes = await Promise.all(changes.map(async (args) => (await refusal(...args)).code));
      expect(codes).toEqual([1, 1, 1, 1, 1, 4]);
      expect((await refusal("kill", threadId)).stderr).toBe(
        `error: ${threadId} has moved to ${host}; hint: continue there: --host '${host}'; or bring it here: uncaged-workflow pull ${threadId} --host '${host}'\n`,
      );
      const { moved } = await store.json<{ moved: boolean }>(["push", threadId, ...there]);
      expect(moved).toBe(false);
      await store.ok(["resume", threadId, "--input", "yes", ...there]);
      await until(async () => (await thread(...there)).status === "completed");
      const { steps } = await thread(...there);
      expect(await store.ok(["pull", threadId], { env: { UNCAGED_WORKFLOW_HOST: host } })).toMatch(
        new RegExp(`^moved ${threadId} to .*; it is completed there$`),
      );
      expect(await thread()).toMatchObject({ status: "completed", steps });
      expect((await thread(...there)).status).toBe("completed");
    });

    test("a name is copied with its versions, and is overwritten only with force", async () => {
      const file = join(store.folder, "greet.esm.js");
      writeFileSync(file, asks);
      await store.ok(["add", "greet", file]);
      const there = ["--host", host];
      expect(await store.json(["push", "greet", ...there])).toMatchObject({
        versions: 1,
        to: host,
      });
      writeFileSync(file, `${asks}\n// 2`);
      await store.ok(["add", "greet", file, ...there]);
      expect((await refusal("push", "greet", ...there)).code).toBe(1);
      expect(await store.json(["pull", "greet", ...there])).toMatchObject({ versions: 2 });
      expect(await store.json(["push", "greet", ...there])).toMatchObject({ unchanged: true });
      const { hash } = await store.json<{ hash: string }>(["show", "greet"]);
      expect(await store.json(["push", hash, ...there])).toMatchObject({ hash, to: host });
      for (const where of [[], there]) {
        expect(await store.json<{ problems: [] }>(["verify", ...where])).toMatchObject({
          problems: [],
        });
      }
    });
  },
);
