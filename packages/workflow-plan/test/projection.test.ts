import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Host } from "@uncaged/workflow/host";
import { removeStores } from "../../workflow/test/fixtures/store.ts";
import { messageOf, until } from "../../workflow/test/fixtures/until.ts";
import { cron, does, hello, TestHome } from "./home.ts";
import { plan } from "./parts.ts";
import { added, asks, waits } from "./projection/plans.ts";
import { projectedTables, tablesOf, undisturbed } from "./projection/undisturbed.ts";

/* Runs and step runs are a one-way projection of logs: any process may drop them at any moment. */
setDefaultTimeout(180_000);
afterAll(removeStores);

/** Returns a host that runs more code after one of its methods. */
function hostAfter(host: Host, name: "find" | "observe", act: () => Promise<unknown>): Host {
  if (name === "find") {
    const find: Host["find"] = async (id) => {
      try {
        return await host.find(id);
      } finally {
        await act();
      }
    };
    return { ...host, find };
  }
  async function* observe(...given: Parameters<Host["observe"]>) {
    yield* host.observe(...given);
    await act();
  }
  return { ...host, observe };
}

test("a slow reader does not replace the rows of a longer log", async () => {
  const home = new TestHome();
  const steps = [does("slow", "wait"), does("bad", "max-turns", ["slow"])];
  const { id, go } = await added(home, plan(steps, { on_step_failure: "ask_user" }));
  await home.plans.confirm(id);
  await until(async () => (await home.plans.show(id)).runs[0]?.steps[0]?.status === "running");
  let isFirst = true;
  const host = hostAfter(home.host, "observe", async () => {
    if (!isFirst) return;
    isFirst = false;
    go();
    await until(async () => (await home.plans.wanted()).length === 1);
    await home.plans.refresh();
  });
  const before = tablesOf(home.plans.database);
  const slow = home.open({ host });
  home.plans.database.run("DELETE FROM sessions");
  await slow.refresh();
  expect(before.sessions).toHaveLength(1);
  expect(tablesOf(home.plans.database)).toEqual(await undisturbed(home));
  await home.plans.answer(id, "abort");
  expect((await home.ended(id)).phase).toBe("failed");
});

test("a run that another process starts meanwhile does not count as a run without a log", async () => {
  const home = new TestHome({ maxRuns: 0 });
  const { go, id } = await added(home, waits);
  await home.plans.confirm(id);
  expect((await home.host.threads()).rows).toEqual([]);
  const starting = home.open({ maxRuns: 1 });
  let isFirst = true;
  const host = hostAfter(home.host, "find", async () => {
    if (!isFirst) return;
    isFirst = false;
    await starting.startQueued();
  });
  await home.open({ host }).refresh();
  expect((await home.plans.show(id)).runs).toMatchObject([{ status: "running", error: null }]);
  go();
  expect((await home.ended(id)).phase).toBe("completed");
});

test("a fork of a run's thread made by hand is not a run of the plan", async () => {
  const home = new TestHome();
  const { host, plans, store } = home;
  const { id } = await added(home, hello());
  const { threadId } = await plans.confirm(id);
  await home.ended(id);
  const before = tablesOf(plans.database);
  const env = { ...store.env, PATH: process.env.PATH ?? "" };
  const fork = await host.fork(await host.find(threadId ?? ""), { env });
  await store.whenStatus(fork, "completed");
  expect(await plans.rebuild()).toEqual({ runs: 1 });
  expect(tablesOf(plans.database)).toEqual(before);
});

test("decisions about a run are effective while its rows are missing", async () => {
  const home = new TestHome({ maxRuns: 1 });
  const { plans } = home;
  const [first, second, third] = [
    await added(home, waits),
    await added(home, hello({ trigger: cron })),
    await added(home, asks),
  ];
  await plans.confirm(second.id);
  await plans.confirm(first.id);
  await plans.run(second.id, { data: "news" });
  const drop = () => projectedTables.forEach((table) => plans.database.run(`DROP TABLE ${table}`));
  drop();
  expect(await messageOf(plans.run(second.id))).toContain("is executing and can't");
  drop();
  expect(await plans.startQueued()).toEqual([]);
  first.go();
  await home.ended(first.id);
  drop();
  expect(await plans.startQueued()).toMatchObject([{ workflowId: second.id }]);
  await home.ended(second.id);
  await plans.confirm(third.id);
  await until(async () => (await plans.wanted()).length === 1);
  drop();
  await plans.answer(third.id, "skip");
  await until(async () => (await plans.refresh(), plans.get(third.id).phase === "failed"));
  drop();
  await plans.retry(third.id);
  await until(async () => (await plans.wanted()).length === 1);
  expect(plans.get(third.id).metadata?.retry).toMatchObject({ of: expect.any(String) });
  await plans.pause(third.id);
  drop();
  await plans.resume(third.id);
  expect(plans.get(third.id).phase).toBe("executing");
  await plans.answer(third.id, "abort");
  await until(async () => (await plans.refresh(), plans.get(third.id).phase === "failed"));
  drop();
  await plans.rebuild();
  expect(tablesOf(plans.database)).toEqual(await undisturbed(home));
});

test("open runs of a home in an older format continue", async () => {
  const home = new TestHome({ maxRuns: 1 });
  const { plans } = home;
  const [running, queued] = [await added(home, waits), await added(home, hello())];
  for (const { id } of [running, queued]) await plans.confirm(id);
  const [begun] = (await plans.show(running.id)).runs;
  plans.database.run(
    "UPDATE workflows SET metadata_json = json_remove(metadata_json, '$.last_run')",
  );
  const opened = home.open({ maxRuns: 1 });
  expect(opened.get(running.id).metadata?.last_run).toEqual({ id: begun?.id, status: "running" });
  expect(opened.get(queued.id).metadata?.last_run).toMatchObject({ status: "queued" });
  running.go();
  expect((await home.ended(running.id)).phase).toBe("completed");
  expect(await opened.startQueued()).toMatchObject([{ workflowId: queued.id }]);
  expect((await home.ended(queued.id)).phase).toBe("completed");
});
