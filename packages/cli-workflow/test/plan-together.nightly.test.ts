import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../workflow/test/fixtures/until.ts";
import { botApi } from "../../workflow-plan/test/channel/bot-api.ts";
import { PlanAudit } from "./plan-audit.ts";
import { create, type Plan, PlanStore, planOf, type Started } from "./planned.ts";
import { type Ended, removeFolders } from "./program.ts";

/* Two services, ten commands and a bot act on one plan home at once, twice. What has come of it is read from outside. */
setDefaultTimeout(180_000);
let store: PlanStore;
const bot = botApi();
const services: Bun.Subprocess[] = [];
beforeAll(async () => void (store = await PlanStore.open()));
afterAll(async () => {
  for (const one of services) one.kill("SIGKILL");
  await Promise.all(services.map(({ exited }) => exited));
  await store.killWorkers();
  await Promise.all([store.stop(), bot.stop()]);
  removeFolders();
});

const user = 7;
const hour = 3_600_000;
/** The service that runs has the bot. */
const botEnv = () => ({
  UNCAGED_PLAN_TELEGRAM_TOKEN: bot.token,
  UNCAGED_PLAN_TELEGRAM_API_ROOT: bot.url,
  UNCAGED_PLAN_TELEGRAM_ALLOWED_USERS: String(user),
});
const cron = (expression: string) => ({ trigger: { type: "cron", expression } });
const yearly = cron("0 0 1 1 *");
const made = (step: string, more: object = {}): Promise<Plan> =>
  store.plan({ [step]: [] }, { name: step, ...more });
const confirm = (id: string) => store.json<Started>(["plan", "confirm", id]);
const count = (ended: Ended[]): number => ended.filter(({ code }) => code === 0).length;

/** Starts two services, of which one is refused; gives the other. */
async function service() {
  const both = [0, 1].map(() => store.start(["plan", "service", "run"], { env: botEnv() }));
  services.push(...both);
  const ended = await Promise.race(both.map(async (one) => [one, await one.exited] as const));
  const [refused, code] = ended;
  expect([code, await refused.stderr.text()]).toEqual([
    1,
    expect.stringContaining("a service runs already"),
  ]);
  const other = both.find((one) => one !== refused);
  if (!other) throw new Error("there is no second service");
  await until(async () => {
    const { running } = await store.json<{ running: { pid: number } | null }>([
      ...["plan", "service", "status"],
    ]);
    return running?.pid === other.pid;
  });
  return other;
}

/** Sends the bot a command in a chat of its own, and waits for its answer. */
async function write(chat: number, text: string): Promise<string> {
  const before = bot.sent.filter((one) => one.chat === String(chat)).length;
  bot.write(chat, text, user);
  const own = () => bot.sent.filter((one) => one.chat === String(chat)).slice(before);
  await until(
    () => own().length > 0,
    () => `no answer to ${text}`,
  );
  return own()[0]?.text ?? "";
}

const isExecuting = async (id: string) => (await store.view(id)).phase === "executing";
const isBusy = (id: string) =>
  store.untilPlan(id, ({ runs }) => runs[0]?.steps[0]?.status === "running");

test("two services, ten commands and a bot at once: phases only along the table, no run twice", async () => {
  const items = join(store.work, "items");
  writeFileSync(items, "0\n");
  const trigger = { type: "poll", interval_seconds: 1, check_script: "cat items" };
  const polled = { trigger: { ...trigger, diff_mode: "new_items" } };
  const due = new Date(Math.floor(Date.now() / hour - 1) * hour);
  const daily = cron(`0 ${due.getUTCHours()} * * *`);
  const [poll, slot, hand, wanted, failed, killed, held, gone] = [
    ...[await made("poll", polled), await made("slot", daily), await made("hand", yearly)],
    ...[await made("wanted"), await made("failed"), await made("killed")],
    ...[await made("held", yearly), await made("gone", yearly)],
  ].map(({ id }) => id) as [string, string, string, string, string, string, string, string];
  const audit = new PlanAudit(store.root);
  try {
    store.mark("broken", ["failed"]);
    store.mark("waiting", ["hand", "wanted", "killed"]);
    for (const id of [poll, slot, hand, failed, killed, held, gone]) await confirm(id);
    await store.untilPhase(failed, "failed");
    await isBusy(killed);
    store.mark("broken", []);
    store.mark("waiting", ["hand", "wanted", "killed", "failed"]);
    // As after a sleep of some hours.
    const missed =
      "UPDATE trigger_state SET last_check_at = ?, last_result = ? WHERE workflow_id = ?";
    const seen = new Date(due.getTime() - hour);
    audit.run(missed, seen.toISOString(), due.toISOString(), slot);

    let running = await service();
    await store.untilPlan(poll, (view) => JSON.stringify(view).includes('"last_result":"0\\n"'));
    appendFileSync(items, "1\n");
    store.replies.push(create(planOf({ new: [] })), create(planOf({ new: [] })));
    const run = (...args: string[]) => store.run(["plan", ...args], { cwd: store.work });
    const first = await Promise.all([
      ...[run("confirm", wanted), run("confirm", wanted), run("retry", failed)],
      ...[run("retry", failed), run("run", hand, "--data", "1"), run("run", hand, "--data", "2")],
      ...[run("pause", held), run("cancel", killed), run("tick"), run("new", "something")],
      write(41, `/confirm ${wanted}`).then(asEnded(/^Confirmed/)),
      write(42, `/retry ${failed}`).then(asEnded(/runs again/)),
      write(43, `/run ${hand} 3`).then(asEnded(/runs now/)),
      write(44, `/pause ${held}`).then(asEnded(/^held is paused/)),
      write(45, "/new something").then(asEnded(/./)),
    ]);
    const of = (...at: number[]) => count(at.flatMap((n) => first[n] ?? []));
    expect([of(0, 1, 10), of(2, 3, 11), of(4, 5, 12), of(6, 13)]).toEqual([1, 1, 1, 1]);
    expect([of(7), of(8), of(9), of(14)]).toEqual([1, 1, 1, 1]);
    for (const id of [wanted, failed, hand]) expect(await isExecuting(id)).toBe(true);

    // The service is killed while the others go on, and two are started in its place.
    appendFileSync(items, "2\n");
    running.kill("SIGKILL");
    await running.exited;
    const others = [
      ...[run("resume", held), run("resume", held), run("rebuild"), run("rebuild"), run("tick")],
      ...[run("tick"), run("delete", gone), run("delete", gone), run("list"), run("status")],
    ];
    running = await service();
    store.mark("waiting", []);
    appendFileSync(items, "3\n");
    const second = await Promise.all([
      ...others,
      write(41, `/resume ${held}`).then(asEnded(/^held is active/)),
      write(42, "/list").then(asEnded(/./)),
    ]);
    const then = (...at: number[]) => count(at.flatMap((n) => second[n] ?? []));
    expect([then(0, 1, 10), then(6, 7)]).toEqual([1, 1]);
    expect(then(2, 3, 4, 5, 8, 9, 11)).toBe(7);

    const dataOf = (id: string) =>
      audit.runs().flatMap(({ data, workflow_id }) => (workflow_id === id ? [data ?? ""] : []));
    await until(() => dataOf(poll).join("\n") === "1\n2\n3");
    for (const id of [wanted, failed]) await store.untilPhase(id, "completed");
    for (const id of [poll, slot, hand]) await store.untilPhase(id, "active");
    await until(() => audit.runs().every(({ status }) => status !== "running"));
    running.kill("SIGTERM");
    expect(await running.exited).toBe(0);

    expect(audit.violations(join(store.work, "calls"))).toEqual([]);
    const phases = (id: string) => audit.phasesOf(id).join(" ");
    const waiting = "awaiting_confirmation";
    expect(phases(wanted)).toBe(`${waiting} executing completed`);
    expect(phases(failed)).toBe(`${waiting} executing failed executing completed`);
    expect(phases(hand)).toBe(`${waiting} active executing active`);
    expect(phases(slot)).toBe(`${waiting} active executing active`);
    expect(phases(held)).toBe(`${waiting} active paused active`);
    expect(phases(killed)).toBe(`${waiting} executing failed`);
    expect(dataOf(slot)).toEqual([due.toISOString()]);
    expect(["1", "2", "3"]).toContain(dataOf(hand).join(" "));
    expect(dataOf(gone)).toEqual([]);
  } finally {
    audit.close();
  }
});

/** An answer of the bot as the end of a command: 0 when it is the expected one. */
const asEnded =
  (expected: RegExp) =>
  (text: string): Ended => ({ code: expected.test(text) ? 0 : 1, stdout: text, stderr: "" });
