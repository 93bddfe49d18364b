import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../workflow/test/fixtures/until.ts";
import { type PlanView, PlanStore } from "./planned.ts";
import { removeFolders } from "./program.ts";
import { Supervised } from "./supervised.ts";

/* Kills the server and the workers of a storage root at many moments, under a supervisor. */
setDefaultTimeout(600_000);
let store: PlanStore;
beforeAll(async () => void (store = await PlanStore.open()));
afterAll(async () => {
  await store.stop();
  removeFolders();
});

const kills = ["server", "workers", "both", "server", "both", "workers"] as const;

test("threads of every kind and a plan's trigger continue, each once", async () => {
  const items = join(store.work, "items");
  writeFileSync(items, "first\n");
  const trigger = {
    ...{ type: "poll", interval_seconds: 1 },
    ...{ check_script: "cat items", diff_mode: "new_items" },
  };
  const { id: plan } = await store.plan({ a: [] }, { trigger });
  await store.ok(["plan", "confirm", plan]);
  const server = await Supervised.start(store);
  const seen = async () => {
    const view = await server.ask<PlanView & { trigger_state?: { last_result: string } | null }>(
      `/api/plans/${plan}`,
    );
    return { runs: view.runs, last: view.trigger_state?.last_result ?? "" };
  };
  await until(async () => (await seen()).last === "first\n");

  const runs = await server.run("runs", { count: 2_000, delayMs: 20 });
  const threads: [name: string, id: string][] = [];
  let line = 0;
  for (const [round, target] of kills.entries()) {
    // A step that is interrupted twice fails its run, so each run may have at most one kill.
    await until(async () => (await seen()).runs.every(({ status }) => status !== "running"));
    const done = server.effects("runs").length;
    await until(() => server.effects("runs").length >= done + 5);
    const wait = { sleep: true, expiresAt: Date.now() + 1_000 };
    const sleeper = await server.run(`sleeps-${round}`, { count: 2, wait });
    const asker = await server.run(`waits-${round}`, { count: 2, wait: {} });
    await server.until(asker, "waiting");
    threads.push([`sleeps-${round}`, sleeper], [`waits-${round}`, asker]);
    appendFileSync(items, `item ${(line += 1)}\n`);
    // Each round kills at another moment of the sleep and of the trigger's check.
    await until(() => server.effects("runs").length >= done + 5 + 12 * round);
    if (target !== "workers") await server.killServer();
    if (target !== "server") await store.killWorkers();
    await server.ready();
    await server.ask(`/api/threads/${asker}/input`, { content: "yes" });
  }
  // The run of the plan is interrupted too.
  store.mark("waiting", ["a"]);
  appendFileSync(items, `item ${(line += 1)}\n`);
  await until(async () => (await seen()).runs.some(({ status }) => status === "running"));
  await server.killServer();
  await store.killWorkers();
  await server.ready();
  store.mark("waiting", []);

  const crashes = 1 + kills.filter((target) => target !== "server").length;
  for (const [name, id] of threads) {
    await server.until(id, "completed");
    const steps = server.effects(name);
    expect([name, steps]).toEqual([name, steps.toSorted((a, b) => a - b)]);
    expect([name, [...new Set(steps)], steps.length <= 2 + crashes]).toEqual([name, [0, 1], true]);
  }
  // One check may find the items of several rounds.
  let fired: PlanView["runs"] = [];
  const found = () => fired.flatMap(({ trigger_data }) => trigger_data?.split("\n") ?? []);
  await until(
    async () => {
      fired = (await seen()).runs;
      return found().length >= line && fired.every(({ status }) => status === "completed");
    },
    () => `the plan has the runs ${JSON.stringify(fired)}`,
  );
  expect(found().toSorted()).toEqual(Array.from({ length: line }, (_, n) => `item ${n + 1}`));

  const before = server.effects("runs");
  expect(before).toEqual(before.toSorted((a, b) => a - b));
  expect(before.length - new Set(before).size).toBeLessThanOrEqual(crashes);
  await until(() => server.effects("runs").length > before.length);
  await server.ask(`/api/threads/${runs}/kill`, {});
  await server.end();
});
