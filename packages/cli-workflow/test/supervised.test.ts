import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { openRoot } from "../../workflow/src/disk/root.ts";
import { elapse } from "../../workflow/test/fixtures/elapsed.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { removeFolders, Store } from "./program.ts";
import { Supervised } from "./supervised.ts";

setDefaultTimeout(180_000);
afterAll(removeFolders);

const dayMs = 86_400_000;

test("after kill -9 of server and workers, each thread continues once", async () => {
  const store = new Store();
  const server = await Supervised.start(store);
  const runs = await server.run("runs", { count: 30, delayMs: 50 });
  const sleeps = await server.run("sleeps", {
    count: 2,
    wait: { sleep: true, expiresAt: Date.now() + 4_000 },
  });
  const asks = await server.run("asks", { count: 2 });
  const waits = await server.run("waits", { count: 2, wait: {} });
  const due = await server.run("due", {
    count: 2,
    wait: { sleep: true, expiresAt: Date.now() + dayMs },
  });
  await server.until(asks, "completed");
  for (const id of [waits, due]) await server.until(id, "waiting");
  await until(() => server.effects("runs").length >= 3);

  await server.end("SIGKILL");
  await store.killWorkers();
  const [hash = ""] = readdirSync(join(store.root, "logs"));
  elapse(openRoot({ path: store.root }), { hash, threadId: due });
  await server.begin();
  await server.killServer();
  await server.ready();

  await server.ask(`/api/threads/${waits}/input`, { content: "yes" });
  for (const id of [runs, sleeps, waits, due]) await server.until(id, "completed");
  for (const name of ["sleeps", "asks", "waits", "due"])
    expect([name, server.effects(name)]).toEqual([name, [0, 1]]);
  // Only the step that the crash interrupted ran twice.
  const steps = server.effects("runs");
  expect(steps).toEqual(steps.toSorted((a, b) => a - b));
  expect([new Set(steps).size, steps.length <= 31]).toEqual([30, true]);
  expect(server.starts).toBeGreaterThanOrEqual(3);
  await server.end();
});
