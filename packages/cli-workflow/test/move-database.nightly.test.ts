import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { until } from "../../workflow/test/fixtures/until.ts";
import { missingPostgres } from "../../workflow-postgres/test/fixtures/server.ts";
import { emptySchema, stopShared } from "../../workflow-postgres/test/fixtures/shared.ts";
import { removeFolders, Store } from "./program.ts";

const store = new Store();
type Thread = { threadId: string; status: string; movedTo?: string; steps: unknown[] };

const asks = `export const descriptor = { description: "asks", roles: {} };
export async function* run(input) {
  if (input.steps.length === 0) yield { role: "__wait__", content: "go on?", meta: { for: "word" } };
  return { returnCode: 0, summary: "done" };
}`;

describe.skipIf(missingPostgres !== "")(
  `between a storage root and a database${missingPostgres}`,
  () => {
    afterAll(async () => {
      await stopShared();
      removeFolders();
    });

    test("a thread moves to the database, is refused here, returns, and ends here", async () => {
      const { url } = await emptySchema();
      const there = ["--host", url.replace("uncaged@", "uncaged:secret@")];
      const file = join(store.folder, "asks.esm.js");
      writeFileSync(file, asks);
      await store.ok(["add", "asks", file]);
      const { threadId } = await store.json<Thread>(["run", "asks"]);
      const thread = (...where: string[]) => store.json<Thread>(["thread", threadId, ...where]);
      await until(async () => (await thread()).status === "waiting");
      const pushed = { threadId, to: url, moved: true, status: "waiting" };
      expect(await store.json(["push", threadId, ...there])).toMatchObject(pushed);
      expect(await store.json(["push", threadId, ...there])).toMatchObject({ moved: false });
      expect(await thread()).toMatchObject({ status: "moved", movedTo: url });
      expect(await thread(...there)).toMatchObject({ status: "waiting" });
      const { code, stderr } = await store.run(["resume", threadId, "--input", "yes"]);
      expect([code, stderr]).toEqual([
        1,
        `error: ${threadId} has moved to ${url}; hint: continue there: --host '${url}'; or bring it here: uncaged-workflow pull ${threadId} --host '${url}'\n`,
      ]);
      expect(await store.json(["push", "asks", ...there])).toMatchObject({ versions: 1, to: url });
      expect(await store.ok(["list", ...there])).toContain("asks");
      expect(await store.json(["pull", threadId, ...there])).toMatchObject({
        from: url,
        moved: true,
      });
      await store.ok(["resume", threadId, "--input", "yes"]);
      await until(async () => (await thread()).status === "completed");
      expect(await store.json(["push", threadId, ...there])).toMatchObject({ status: "completed" });
      expect((await thread(...there)).steps).toEqual((await thread()).steps);
      await store.ok(["verify", ...there]);
      await store.ok(["plan", "list", ...there]);
      const none = url.replace(/:\d+\//, ":1/");
      for (const way of ["push", "pull"]) {
        const refused = await store.run([way, threadId, "--host", none]);
        expect([refused.code, refused.stderr.split("\n").length]).toEqual([1, 2]);
      }
    });
  },
);
