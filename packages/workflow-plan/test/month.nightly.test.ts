import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { removeStores } from "../../workflow/test/fixtures/store.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { builtProgram, ServiceProcess } from "./daemon/process.ts";
import type { Workflow } from "../src/index.ts";
import { earliestDue } from "../src/daemon/triggers.ts";
import { hello, TestHome, workflow } from "./home.ts";

/*
 * October 2026, in which Sydney loses an hour and Berlin gets one: plans with slots in both zones, one whose check finds
 * lines that come and go, one that is run by hand. The service is killed with -9 again and again, the clock is put back
 * and forward, the machine sleeps. What must have run is computed here, from the times that the clock has shown.
 *
 * Most kills come when something is due: half of them at one of the calls with which the service changes anything, by its
 * number, and half at any moment.
 */
setDefaultTimeout(600_000);
const ends: (() => unknown)[] = [removeStores];
afterEach(async () => {
  for (const end of ends) await end();
});

const isWhole = process.env.TEST_CASES === "all";
const kills = Number(process.env.TEST_KILLS ?? (isWhole ? 500 : 8));
/** Until which of its calls a service comes at most that is killed at one of them. */
const mostCalls = 24;
const longestRunMs = 250;
const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const checkEvery = (isWhole ? 16 : 6) * hour;
const utc = (text: string): number => Date.parse(`${text}Z`);

/** From when to when the clock goes: a whole month, or the days of both changes. */
const spans = isWhole
  ? [[utc("2026-10-01T00:10"), utc("2026-10-31T20:00")]]
  : [
      [utc("2026-10-02T14:10"), utc("2026-10-03T20:00")],
      [utc("2026-10-24T14:10"), utc("2026-10-25T05:00")],
    ];

/** Each day at 2:30 in Berlin and in Sydney: computed from the offsets before and after the change. */
const berlin = days((date) => [date + 30 * minute, date + hour + 30 * minute], "2026-10-25T01:00");
const sydney = days((date) => [date - 7.5 * hour, date - 8.5 * hour], "2026-10-03T16:00").filter(
  // This local time did not exist.
  (slot) => slot !== utc("2026-10-03T15:30") && slot !== utc("2026-10-03T16:30"),
);

function days(
  slotsOf: (date: number) => [before: number, after: number],
  change: string,
): number[] {
  const dates = Array.from({ length: 33 }, (_, index) => utc("2026-09-30T00:00") + index * day);
  return dates.map((date) => {
    const [before, after] = slotsOf(date);
    return before < utc(change) ? before : after;
  });
}

/** What a plan with slots must have run, given each time that its trigger was looked at. */
class SlotAudit {
  readonly fired: string[] = [];
  #since: number;

  constructor(
    readonly slots: number[],
    readonly skips: boolean,
    from: number,
  ) {
    this.#since = from;
  }

  look(now: number): void {
    const passed = this.slots.filter((slot) => slot > this.#since && slot <= now);
    this.#since = now;
    const latest = passed.at(-1);
    if (latest === undefined || (this.skips && now - latest >= minute)) return;
    const slot = new Date(latest).toISOString();
    if (!this.fired.includes(slot)) this.fired.push(slot);
  }
}

/** What a plan that compares lines must have run. */
class LineAudit {
  readonly fired: string[] = [];
  #checkedAt: number | null = null;
  #last: string[] = [];

  look(now: number, lines: string[]): void {
    const since = this.#checkedAt;
    if (since !== null && now >= since && now - since < checkEvery) return;
    const found = lines.filter((line) => !this.#last.includes(line));
    if (since !== null && found.length > 0) this.fired.push(found.join("\n"));
    this.#checkedAt = now;
    this.#last = [...lines];
  }
}

test(`a month with ${kills} kills, clock steps and sleep: each fire once, or skipped as its policy has it`, async () => {
  const home = new TestHome();
  const at = (name: string) => join(home.store.folder, name);
  let now = spans[0]?.[0] ?? 0;
  const show = () => writeFileSync(at("clock"), String(now));
  const plans = home.open({ now: () => now });
  show();
  writeFileSync(at("items"), "");
  const added = async (output: Parameters<typeof hello>[0], metadata?: Workflow["metadata"]) => {
    const { id } = await plans.create(workflow(hello(output), { metadata }));
    await plans.confirm(id);
    return id;
  };
  const at230 = (timezone: string) => ({
    trigger: { type: "cron", expression: "30 2 * * *", timezone } as const,
  });
  const ids = [
    await added(at230("Europe/Berlin")),
    await added(at230("Australia/Sydney"), { missed_slots: "skip" }),
    await added({
      trigger: {
        ...{ type: "poll", diff_mode: "new_items", interval_seconds: checkEvery / 1000 },
        check_script: "cat items",
      },
    }),
    await added({}),
  ];
  const [, , , byHand = ""] = ids;
  const audits = [new SlotAudit(berlin, false, now), new SlotAudit(sydney, true, now)];
  const lineAudit = new LineAudit();
  const given: (string | null)[] = [null];
  await home.ended(byHand);

  const file = await builtProgram();
  ends.push(() => rmSync(dirname(file), { recursive: true }));
  const start = (crash?: number) =>
    new ServiceProcess(home, { clock: at("clock"), everyMs: 5, crash }, file);
  let service = start();
  let isDoomed = false;
  let killed = 0;
  let crashed = 0;
  /** Kills what runs, and starts another one, which is to be killed at one of its calls or lives on. */
  const kill = async (crash?: number) => {
    await service.kill();
    killed += 1;
    isDoomed = crash !== undefined;
    service = start(crash);
  };
  /** Kills a new service at one of its calls; as soon as nothing is left for it to do, if it makes fewer. */
  const killAtCall = async () => {
    await kill(1 + Math.trunc(Math.random() * mostCalls));
    let isOver = false;
    void service.ended.then(() => (isOver = true));
    await until(() => isOver || (service.lines.length > 0 && isQuiet()));
    crashed += Number(isOver);
  };
  const killAtMoment = async () => {
    await kill();
    await Bun.sleep(Math.random() * longestRunMs);
  };
  const isQuiet = () => {
    const due = earliestDue(plans, now);
    const going = plans.database.rows("SELECT 1 FROM workflow_runs WHERE status = 'running'");
    return (due === null || due > now) && going.length === 0;
  };
  const settled = () =>
    until(
      isQuiet,
      () => `${new Date(now).toISOString()} ${JSON.stringify(service.lines)} ${service.errors}`,
    );

  const length = spans.reduce((sum, [from = 0, to = 0]) => sum + to - from, 0);
  let passed = 0;
  let lines: string[] = [];
  try {
    for (const [from = 0, to = 0] of spans) {
      now = Math.max(now, from);
      for (let turn = 1; now < to; turn += 1) {
        lines = nextLines(lines, turn);
        writeFileSync(at("items"), lines.map((line) => `${line}\n`).join(""));
        const step = Math.round(nextStep(now, turn));
        now += step;
        passed += step;
        show();
        for (const audit of audits) audit.look(now);
        lineAudit.look(now, lines);
        const owed = Math.min(kills, (kills * passed) / length);
        // The others come when something is due, or at the end.
        while (killed < owed && (!isQuiet() || now >= to))
          await (killed % 2 === 0 ? killAtCall() : killAtMoment());
        if (isDoomed) await kill();
        await settled();
        if (turn % (isWhole ? 25 : 9) === 0) {
          given.push(`by hand ${turn}`);
          await plans.run(byHand, { data: `by hand ${turn}` });
        }
      }
    }
    await settled();
  } finally {
    await service.kill();
  }

  const views = await Promise.all(ids.map((id) => plans.show(id)));
  const data = views.map(({ runs }) => runs.map((run) => run.trigger_data).toReversed());
  expect(data).toEqual([audits[0]?.fired, audits[1]?.fired, lineAudit.fired, given] as never);
  expect(data.flat().length).toBeGreaterThan(2);
  expect(killed).toBeGreaterThanOrEqual(kills);
  if (isWhole) expect(crashed).toBeGreaterThan(kills / 10);
  const runs = data.flat().length;
  expect((await home.host.threads({ limit: 1000 })).total).toBe(runs);
  expect(readFileSync(at("calls"), "utf8").trimEnd().split("\n")).toHaveLength(runs);
  expect(views.map(({ phase }) => phase)).toEqual(["active", "active", "active", "completed"]);
});

/** Lines come, and go, and some come again. */
function nextLines(lines: string[], turn: number): string[] {
  const kept = lines.filter(() => Math.random() < 0.8);
  if (turn % 3 === 0) kept.push(`line ${Math.trunc(Math.random() * 20)}`);
  return [...new Set(kept)];
}

/** How far the clock goes: to a slot exactly or near it, on for a while, back, or on over half a day of sleep. */
function nextStep(now: number, turn: number): number {
  if (turn % 13 === 0) return 11 * hour + Math.random() * hour;
  if (turn % 17 === 0) return -40 * minute;
  const slot = [...berlin, ...sydney].toSorted((a, b) => a - b).find((time) => time > now);
  const next = (slot ?? now + day) - now;
  if (next < 3 * hour) return next + ([0, 1, 30_000, 59_999, 60_000][turn % 6] ?? 5 * minute);
  return hour + Math.random() * 2 * hour;
}
