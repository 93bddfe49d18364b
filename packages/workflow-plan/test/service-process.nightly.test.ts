import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { removeStores } from "../../workflow/test/fixtures/store.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import type { TriggerConfig } from "../src/entry/index.ts";
import { requestStop, runningService } from "../src/service/control.ts";
import { ServiceProcess } from "./service/process.ts";
import { does, hello, TestHome, workflow } from "./home.ts";
import { plan } from "./parts.ts";

/* Services in separate processes, while other processes change the same plan home. */
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

test("confirmations, pauses, changes and removals by another process take effect before the next fire", async () => {
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

test("a second service is refused, a pass beside a service does nothing, and a killed service leaves no lock", async () => {
  const home = new TestHome();
  const first = served(home);
  await first.reported("ready");
  const second = served(home);
  expect(await second.ended).not.toBe(0);
  expect(second.errors).toContain("a service already runs");
  const pass = served(home, { pass: true });
  expect(await pass.ended).toBe(0);
  expect(pass.lines).toEqual([{ fired: [], next: null }]);
  expect(runningService(home.home)?.pid).toBeGreaterThan(0);
  await first.kill();
  expect(runningService(home.home)).toBeNull();
  const third = served(home);
  await third.reported("ready");
});

test("a service ends on request, and its runs continue", async () => {
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

test("a drained service pauses its runs between steps, and the next service resumes them", async () => {
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
