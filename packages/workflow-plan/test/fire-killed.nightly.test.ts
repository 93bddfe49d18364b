import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { removeStores } from "../../workflow/test/fixtures/store.ts";
import { tick } from "../src/entry/service.ts";
import { ServiceProcess } from "./service/process.ts";
import { hello, TestHome, workflow } from "./home.ts";

/* Kills a firing pass with SIGKILL before and after each call that changes state, each time in a new process. */
setDefaultTimeout(600_000);
afterEach(removeStores);

const minute = 60_000;
/** Number of kill points from one kill to the next. Each call has two kill points: before and after it. */
const stride = process.env.TEST_CASES === "all" ? 2 : 14;

test(`a pass that is killed before or after its calls (every ${stride}th kill point) loses no change and fires nothing twice`, async () => {
  const home = new TestHome();
  const at = (name: string) => join(home.store.folder, name);
  let now = Date.parse("2026-01-05T08:00:00Z");
  const plans = home.open({ now: () => now });
  const env = { ...home.store.env, PATH: process.env.PATH ?? "" };
  const commandOf = async (_plan: unknown, script: string) => ({
    ...{ argv: ["sh", "-c", script], cwd: home.store.folder, env },
  });
  const pass = () => tick(plans, { commandOf, env, host: home.host, now: () => now });
  const poll = { type: "poll", interval_seconds: 60, diff_mode: "new_items" } as const;
  const slots = { type: "cron", expression: "* * * * *" } as const;
  const triggers = [{ ...poll, check_script: "cat items" }, slots];
  const made = triggers.map((trigger) => plans.create(workflow(hello({ trigger }))));
  const ids = (await Promise.all(made)).map(({ id }) => id);
  for (const id of ids) await plans.confirm(id);
  writeFileSync(at("items"), "");
  await pass();
  const changes: string[] = [];
  const times: string[] = [];
  let kills = 0;
  for (let crash = 1 + Math.trunc(Math.random() * stride), isOver = false; !isOver; ) {
    now += minute;
    changes.push(`change ${crash}`);
    times.push(new Date(now).toISOString());
    appendFileSync(at("items"), `change ${crash}\n`);
    writeFileSync(at("clock"), String(now));
    const killed = new ServiceProcess(home, { pass: true, clock: at("clock"), crash });
    isOver = (await killed.ended) === 0;
    if (!isOver) kills += 1;
    await pass();
    for (const id of ids) await home.ended(id);
    crash += stride;
  }
  const found = await Promise.all(ids.map((id) => plans.show(id)));
  const data = found.map(({ runs }) => runs.map((run) => run.trigger_data).toReversed());
  expect(data).toEqual([changes, times]);
  for (const { runs } of found)
    expect(runs.filter(({ status }) => status !== "completed")).toEqual([]);
  const calls = readFileSync(at("calls"), "utf8").trimEnd().split("\n");
  expect(calls).toHaveLength(changes.length * ids.length);
  const { total } = await home.host.threads({ limit: 1000 });
  expect(total).toBe(changes.length * ids.length);
  expect(kills).toBeGreaterThan(2);
});
