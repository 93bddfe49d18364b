import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { removeStores } from "../../workflow/test/fixtures/store.ts";
import type { TriggerConfig, Workflow } from "../src/entry/index.ts";
import {
  openTriggerLoop,
  type Plans,
  tick,
  type TickOptions,
  type TriggerState,
} from "../src/entry/service.ts";
import { isFiring, lockService } from "../src/service/control.ts";
import { positionIn } from "../src/home/notice.ts";
import { triggerStateOf } from "../src/store/trigger-state.ts";
import { failureOf } from "../../workflow-agents/test/published.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { hello, TestHome, workflow } from "./home.ts";
import { botApi } from "./channel/bot-api.ts";
import { bot, closeBots } from "./router/chat.ts";

/* One pass over the due triggers, with real check scripts, real threads, and the test's own clock. */
setDefaultTimeout(180_000);
afterEach(async () => {
  await closeBots();
  await removeStores();
});

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** A plan home with the test's clock. */
class Clockwork extends TestHome {
  now: number;
  readonly timed: Plans;

  constructor(from = "2026-01-05T08:00:00Z") {
    super();
    this.now = Date.parse(from);
    this.timed = this.open({ now: () => this.now });
  }

  async confirmed(trigger: TriggerConfig, metadata?: Workflow["metadata"]): Promise<string> {
    const { id } = await this.timed.create(workflow(hello({ trigger }), { metadata }));
    await this.timed.confirm(id);
    return id;
  }

  options(more: Partial<TickOptions> = {}): TickOptions {
    const env = { ...this.store.env, PATH: process.env.PATH ?? "" };
    const cwd = this.store.folder;
    return {
      ...{ env, host: this.host, now: () => this.now, ...more },
      commandOf: async (_workflow, script) => ({ argv: ["sh", "-c", script], cwd, env }),
    };
  }

  /** Runs one pass after some time. Returns the number of plans that fired. */
  async after(ms: number, more: Partial<TickOptions> = {}): Promise<number> {
    this.now += ms;
    const { fired } = await tick(this.timed, this.options(more));
    for (const { workflowId } of fired) await this.ended(workflowId);
    return fired.length;
  }

  /** Returns the data of a plan's runs, oldest first. */
  async data(id: string): Promise<(string | null)[]> {
    const { runs } = await this.timed.show(id);
    return runs.map(({ trigger_data }) => trigger_data).toReversed();
  }

  state(id: string) {
    return triggerStateOf(this.timed.database, id);
  }

  file(name: string): string {
    return join(this.store.folder, name);
  }
}

const poll = (check_script: string, more = {}): TriggerConfig => ({
  ...{ type: "poll", interval_seconds: 60, check_script, diff_mode: "new_items" },
  ...more,
});
const cron = (expression: string, timezone?: string): TriggerConfig => ({
  ...{ type: "cron", expression, ...(timezone && { timezone }) },
});

test("a poll's first output fires nothing, and later only new lines fire", async () => {
  const home = new Clockwork();
  writeFileSync(home.file("items"), "one\n");
  const id = await home.confirmed(poll("echo checked >> checks; cat items"));
  expect(await home.after(0)).toBe(0);
  expect(home.state(id)).toMatchObject({ last_result: "one\n", last_error: null });
  appendFileSync(home.file("items"), "two\nthree\n");
  expect(await home.after(59 * second)).toBe(0);
  expect(await home.after(second)).toBe(1);
  expect(await home.after(minute)).toBe(0);
  expect(await home.data(id)).toEqual(["two\nthree"]);
  expect(readFileSync(home.file("checks"), "utf8").split("\n")).toHaveLength(4);
  const view = await home.timed.show(id);
  expect([view.phase, view.runs[0]?.status]).toEqual(["active", "completed"]);
});

test("a failed check changes only its time and its error, and is reported after the third in a row", async () => {
  const home = new Clockwork();
  writeFileSync(home.file("items"), "one\n");
  const id = await home.confirmed(poll("cat items"));
  await home.after(0);
  const before = home.state(id) as TriggerState;
  rmSync(home.file("items"));
  const pending = () => positionIn(home.timed.get(id).metadata).pending.map(({ text }) => text);
  for (let n = 1; n <= 4; n += 1) {
    expect(await home.after(minute)).toBe(0);
    expect(pending()).toHaveLength(n < 3 ? 0 : 1);
  }
  const after = home.state(id);
  const last_error = expect.stringMatching(/exit code 1: .*items.*\(failures in a row: 4\)$/);
  expect(after).toEqual({ ...before, last_check_at: "2026-01-05T08:04:00.000Z", last_error });
  expect(pending()).toEqual([expect.stringContaining("its check fails: the check failed")]);
  writeFileSync(home.file("items"), "one\ntwo\n");
  expect(await home.after(minute)).toBe(1);
  expect(home.state(id)?.last_error).toBeNull();
});

test("a check that keeps failing is reported to the owner once, when a channel is available", async () => {
  const home = new Clockwork(new Date(Date.now() - hour).toISOString());
  const owner = { channel: "telegram", chatJid: "42", sender: "7" };
  const id = await home.confirmed(poll("echo broken >&2; exit 3"), { owner });
  for (let n = 0; n < 5; n += 1) await home.after(minute);
  const server = botApi();
  for (let n = 0; n < 2; n += 1) {
    const { close, notices } = await bot({ home, server });
    await notices.send();
    await home.after(minute);
    await notices.send();
    await close();
  }
  expect(server.sent.map(({ text }) => text)).toEqual([expect.stringContaining("its check fails")]);
  await server.stop();
  expect(positionIn(home.timed.get(id).metadata).pending).toEqual([]);
});

test("an aborted pass ends its checks, and nothing fires", async () => {
  const home = new Clockwork();
  const id = await home.confirmed(poll("touch begun; sleep 60"));
  const abort = new AbortController();
  const ticked = tick(home.timed, home.options({ signal: abort.signal }));
  await until(() => existsSync(home.file("begun")));
  abort.abort();
  expect((await ticked).fired).toEqual([]);
  expect(home.state(id)?.last_error).toBeNull();
});

test("passes fire triggers only while no service does", async () => {
  const home = new TestHome();
  const trigger = { ...poll("cat items"), interval_seconds: 1, diff_mode: "any_change" } as const;
  writeFileSync(join(home.store.folder, "items"), "one\n");
  const { id } = await home.plans.create(
    workflow(hello({ trigger }), { metadata: { fire_on_first_check: true } }),
  );
  await home.plans.confirm(id);
  const env = { ...home.store.env, PATH: process.env.PATH ?? "" };
  const cwd = home.store.folder;
  expect(isFiring(home.home)).toBe(false);
  const loop = openTriggerLoop(home.plans, {
    ...{ env, host: home.host },
    commandOf: async (_workflow, script) => ({ argv: ["sh", "-c", script], cwd, env }),
  });
  expect(isFiring(home.home)).toBe(true);
  await until(() => home.plans.runs({ since: "2000" }).length === 1);
  await home.ended(id);
  await loop.stop();
  expect(isFiring(home.home)).toBe(false);
  writeFileSync(join(home.store.folder, "items"), "two\n");
  expect(home.plans.runs()).toEqual([]);
  const service = lockService(home.home);
  const beside = openTriggerLoop(home.plans, {
    ...{ env, host: home.host },
    commandOf: () => Promise.reject(new Error("a service runs")),
  });
  await beside.stop();
  expect(isFiring(home.home)).toBe(true);
  service.release();
  expect(isFiring(home.home)).toBe(false);
  expect((await home.plans.show(id)).trigger_state?.last_error).toBeNull();
});

test("new items during a run fire one run with all of them after its end", async () => {
  const home = new Clockwork();
  writeFileSync(home.file("items"), "");
  const trigger = poll("cat items");
  const { id } = await home.timed.create(workflow({ ...hello({ trigger }), ...waiting }));
  await home.timed.confirm(id);
  await home.after(0);
  appendFileSync(home.file("items"), "one\n");
  home.now += minute;
  expect((await tick(home.timed, home.options())).fired).toHaveLength(1);
  for (const item of ["two\n", "three\n"]) {
    appendFileSync(home.file("items"), item);
    expect(await home.after(minute)).toBe(0);
  }
  writeFileSync(home.file("go"), "");
  await home.ended(id);
  expect(await home.after(minute)).toBe(1);
  expect(await home.data(id)).toEqual(["one", "two\nthree"]);
});

const waiting = {
  steps: [
    { id: "hello", description: "wait", agent: "claude" as const, inputs: {}, depends_on: [] },
  ],
};

test("twenty concurrent passes fire a change once", async () => {
  const home = new Clockwork();
  writeFileSync(home.file("items"), "one\n");
  const id = await home.confirmed(poll("cat items"));
  await home.after(0);
  appendFileSync(home.file("items"), "two\n");
  home.now += minute;
  const all = await Promise.all(
    Array.from({ length: 20 }, () => tick(home.open({ now: () => home.now }), home.options())),
  );
  expect(all.flatMap(({ fired }) => fired)).toHaveLength(1);
  await home.ended(id);
  expect(await home.data(id)).toEqual(["two"]);
});

test("a pass shows the next slot of a plan with an open run", async () => {
  const home = new Clockwork();
  const id = await home.confirmed(cron("0 9 * * *"));
  await tick(home.timed, home.options());
  await home.timed.store.change(() => {
    home.timed.database.run("UPDATE workflows SET phase = 'executing' WHERE id = ?", id);
  });
  const { next } = await tick(home.timed, home.options());
  expect(next).toBe("2026-01-05T09:00:00.000Z");
});

test("a pass shows when the next trigger is due, and a broken trigger does not stop other triggers", async () => {
  const home = new Clockwork();
  expect(await tick(home.timed, home.options())).toEqual({ fired: [], next: null });
  const broken = await home.confirmed(cron("0 9 * * *"));
  const corrupt = await home.confirmed(cron("0 9 * * *"));
  const good = await home.confirmed(cron("0 9 * * *"));
  const { next } = await tick(home.timed, home.options());
  expect(next).toBe("2026-01-05T09:00:00.000Z");
  const { database } = home.timed;
  const set = "UPDATE workflows SET trigger_json = ? WHERE id = ?";
  database.run(set, JSON.stringify(cron("99 * * * *")), broken);
  database.run(set, "{", corrupt);
  home.now += hour;
  const failed: string[] = [];
  const onError = (id: string, error: unknown) => void failed.push(`${id}: ${String(error)}`);
  const { fired } = await tick(home.timed, home.options({ onError }));
  expect(fired.map(({ workflowId }) => workflowId)).toEqual([good]);
  const message = `the plan ${corrupt} is damaged: trigger_json is not valid JSON`;
  expect(failed).toEqual([expect.stringContaining(message)]);
  expect(String(await failureOf(tick(home.timed, home.options())))).toContain(message);
  expect(home.state(broken)?.last_error).toContain("invalid ");
  await home.ended(good);
});
