import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { removeStores } from "../../workflow/test/fixtures/store.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import type { TriggerConfig } from "../src/index.ts";
import { requestStop, runningService } from "../src/service.ts";
import { ServiceProcess } from "./daemon/process.ts";
import { does, hello, TestHome, workflow } from "./home.ts";
import { plan } from "./parts.ts";

/* The service in processes of its own, beside others that act on the same plan home. */
setDefaultTimeout(120_000);
const services: ServiceProcess[] = [];
afterEach(async () => {
  await Promise.all(services.splice(0).map((service) => service.kill()));
  await removeStores();
});

function served(home: TestHome, settings = {}): ServiceProcess {
  const service = new ServiceProcess(home, settings);
  services.push(service);
  return service;
}

const poll = (check_script: string): TriggerConfig => ({
  ...{ type: "poll", interval_seconds: 1, check_script, diff_mode: "new_items" },
});

async function confirmed(home: TestHome, trigger: TriggerConfig): Promise<string> {
  const { id } = await home.plans.create(workflow(hello({ trigger })));
  await home.plans.confirm(id);
  return id;
}

const dataOf = async (home: TestHome, id: string) =>
  (await home.plans.show(id)).runs.map(({ trigger_data }) => trigger_data).toReversed();

const checked = (home: TestHome, id: string, text: string) =>
  until(async () => (await home.plans.show(id)).trigger_state?.last_result === text);

test("what another process confirms, pauses, changes or removes holds before the next fire", async () => {
  const home = new TestHome();
  const file = join(home.store.folder, "items");
  writeFileSync(file, "one\n");
  const service = served(home);
  await service.reported("ready");
  const id = await confirmed(home, poll("cat items"));
  await checked(home, id, "one\n");
  appendFileSync(file, "two\n");
  await until(async () => (await dataOf(home, id)).length === 1);
  await home.ended(id);
  await home.plans.pause(id);
  appendFileSync(file, "three\n");
  await Bun.sleep(0);
  const other = await confirmed(home, poll("cat items"));
  await checked(home, other, "one\ntwo\nthree\n");
  expect(await dataOf(home, id)).toEqual(["two"]);
  await home.plans.resume(id);
  await until(async () => (await dataOf(home, id)).length === 2);
  await home.ended(id);
  const { ...changed } = home.plans.get(id);
  await home.plans.replace({ ...changed, trigger: poll("echo changed; cat items") });
  await home.plans.confirm(id);
  await checked(home, id, "changed\none\ntwo\nthree\n");
  expect(await dataOf(home, id)).toEqual(["two", "three"]);
  await home.plans.remove(id);
  appendFileSync(file, "four\n");
  await until(async () => (await dataOf(home, other)).length === 1);
  expect(service.lines.filter(({ kind }) => kind === "error")).toEqual([]);
});

test("a second service is refused, a pass beside one does nothing, and a killed one leaves no lock", async () => {
  const home = new TestHome();
  const first = served(home);
  await first.reported("ready");
  const second = served(home);
  expect(await second.ended).not.toBe(0);
  expect(second.errors).toContain("a service runs already");
  const pass = served(home, { pass: true });
  expect(await pass.ended).toBe(0);
  expect(pass.lines).toEqual([{ fired: [], next: null }]);
  expect(runningService(home.home)?.pid).toBeGreaterThan(0);
  await first.kill();
  expect(runningService(home.home)).toBeNull();
  const third = served(home);
  await third.reported("ready");
});

test("a service that is asked to end does so, and its runs go on", async () => {
  const home = new TestHome();
  const { id } = await home.plans.create(
    workflow(plan([does("a", "wait"), does("b", "say b", ["a"])])),
  );
  await home.plans.confirm(id);
  const service = served(home);
  await service.reported("ready");
  const check = await confirmed(home, poll("echo $$ > check; sleep 60"));
  await until(() => existsSync(join(home.store.folder, "check")));
  await service.kill("SIGTERM");
  expect(service.lines.at(-1)).toEqual({ kind: "over" });
  expect((await home.plans.show(check)).trigger_state?.last_error).toBeNull();
  const pid = Number(readFileSync(join(home.store.folder, "check"), "utf8"));
  await until(() => !existsSync(`/proc/${pid}`));
  writeFileSync(join(home.store.folder, "go"), "");
  expect((await home.ended(id)).phase).toBe("completed");
});

test("a drained service pauses its runs between steps, and the next one resumes them", async () => {
  const home = new TestHome();
  const { id } = await home.plans.create(
    workflow(plan([does("a", "wait"), does("b", "say b", ["a"])])),
  );
  await home.plans.confirm(id);
  const service = served(home);
  await service.reported("ready");
  requestStop(home.home, { drainSeconds: 60 });
  await until(async () => (await home.host.live()).some(({ pausing }) => pausing));
  writeFileSync(join(home.store.folder, "go"), "");
  expect(await service.ended).toBe(0);
  const { phase, runs } = await home.plans.show(id);
  expect([phase, runs[0]?.status]).toEqual(["executing", "running"]);
  expect(runs[0]?.steps.map(({ status }) => status)).toEqual(["succeeded", "pending"]);
  await served(home).reported("ready");
  expect((await home.ended(id)).phase).toBe("completed");
});

test("what a crash of everything has left goes on, and what is paused does not", async () => {
  const home = new TestHome();
  const waits = () => plan([does("a", "say a"), does("b", "wait", ["a"])]);
  const made = [waits(), waits()].map((output) => home.plans.create(workflow(output)));
  const ids = (await Promise.all(made)).map(({ id }) => id);
  for (const id of ids) await home.plans.confirm(id);
  const [going = "", paused = ""] = ids;
  const isWaiting = async (id: string) =>
    (await home.plans.show(id)).runs[0]?.steps[1]?.status === "running";
  for (const id of ids) await until(() => isWaiting(id));
  await home.plans.pause(paused);
  const first = served(home);
  await first.reported("ready");
  await first.kill();
  await home.store.signalWorkers("SIGKILL");
  await until(async () => (await home.host.live()).length === 0);
  writeFileSync(join(home.store.folder, "go"), "");
  const second = served(home);
  await second.reported("ready");
  expect(second.lines.filter(({ kind }) => kind === "interrupted")).toMatchObject([
    { workflowId: going },
  ]);
  const { phase, runs } = await home.ended(going);
  expect([phase, runs.length]).toEqual(["completed", 1]);
  expect(home.plans.get(paused).phase).toBe("paused");
  const calls = readFileSync(join(home.store.folder, "calls"), "utf8").trim().split("\n");
  expect(calls.filter((line) => line.includes('"say a"'))).toHaveLength(2);
  await home.plans.resume(paused);
  expect((await home.ended(paused)).phase).toBe("completed");
});

test("no check begins while one of the same plan is in flight, and what was due meanwhile is left out", async () => {
  const home = new TestHome();
  const at = (name: string) => join(home.store.folder, name);
  const minute = 60_000;
  let now = Date.parse("2026-01-05T08:00:00Z");
  const show = () => writeFileSync(at("clock"), String(now));
  show();
  const script = "echo begun >> checks; while [ ! -e open ]; do sleep 0.02; done; echo it";
  const trigger: TriggerConfig = {
    ...{ type: "poll", interval_seconds: 60, check_script: script, diff_mode: "new_items" },
  };
  const plans = home.open({ now: () => now });
  const triggers = [trigger, { ...trigger, check_script: "cat clock" }];
  const made = triggers.map((one) => plans.create(workflow(hello({ trigger: one }))));
  const [id, other] = (await Promise.all(made)).map((one) => one.id) as [string, string];
  for (const one of [id, other]) await plans.confirm(one);
  const checks = () => readFileSync(at("checks"), "utf8").trimEnd().split("\n").length;
  const stateOf = async (one: string) => (await plans.show(one)).trigger_state;
  const service = served(home, { clock: at("clock") });
  await service.reported("ready");
  await until(() => existsSync(at("checks")));
  // The service has looked at all triggers when the other plan's check was made. A check is dated by its end.
  const looked = () => until(async () => (await stateOf(other))?.last_result === String(now));
  await looked();
  for (let turn = 0; turn < 3; turn += 1) {
    now += minute;
    show();
    await looked();
    await home.ended(other);
  }
  expect(checks()).toBe(1);
  writeFileSync(at("open"), "");
  await until(async () => (await stateOf(id))?.last_result === "it\n");
  const seen = new Date(now).toISOString();
  expect([(await stateOf(id))?.last_check_at, checks()]).toEqual([seen, 1]);
  now += minute;
  show();
  await until(async () => (await stateOf(id))?.last_check_at === new Date(now).toISOString());
  expect(checks()).toBe(2);
});
