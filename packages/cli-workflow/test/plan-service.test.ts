import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type Plan, PlanStore, type Started } from "./planned.ts";
import { playBundle, removeFolders } from "./program.ts";

setDefaultTimeout(180_000);
let store: PlanStore;
beforeAll(async () => void (store = await PlanStore.open()));
afterAll(async () => {
  await store.stop();
  removeFolders();
});

type Ticked = { fired: { workflowId: string; runId: string }[]; next: string | null };
type Status = { home: string; running: { pid: number } | null; unit: string | null };

/** Creates and confirms a plan whose check prints a file. */
async function watching(file: string): Promise<Plan> {
  const check_script = `cat ${file}`;
  const trigger = { type: "poll", interval_seconds: 1, check_script, diff_mode: "new_items" };
  writeFileSync(join(store.work, file), "one\n");
  const plan = await store.plan({ a: [] }, { trigger });
  const started = await store.json<Started>(["plan", "confirm", plan.id]);
  expect(started).toEqual({
    ...{ workflowId: plan.id, phase: "active", runId: null, threadId: null },
  });
  return plan;
}

const add = (file: string, line: string) => appendFileSync(join(store.work, file), `${line}\n`);

test("plan tick fires each due trigger once, and reports the next due time", async () => {
  const { id } = await watching("tick");
  const first = await store.json<Ticked>(["plan", "tick"]);
  expect(first.fired).toEqual([]);
  expect(Date.parse(first.next ?? "")).toBeGreaterThan(Date.now() - 2000);
  add("tick", "two");
  const fired: Ticked["fired"] = [];
  while (fired.length === 0) fired.push(...(await store.json<Ticked>(["plan", "tick"])).fired);
  const { runs } = await store.untilPhase(id, "active");
  expect(fired).toEqual([{ workflowId: id, runId: runs[0]?.id ?? "" }]);
  expect(runs.map(({ status, trigger_data }) => [status, trigger_data])).toEqual([
    ["completed", "two"],
  ]);
  await store.ok(["plan", "pause", id]);
  expect(await store.json<Ticked>(["plan", "tick"])).toEqual({ fired: [], next: null });
  const { stderr } = await store.run(["plan", "tick"]);
  expect(stderr).toContain("no plan waits for its trigger");
});

test("a service fires triggers, is shown by status, refuses a second service, and ends on request", async () => {
  const status = () => store.json<Status>(["plan", "service", "status"]);
  expect(await status()).toEqual({ home: join(store.root, "plans"), running: null, unit: null });
  const nobody = await store.run(["plan", "service", "stop"]);
  expect([nobody.code, nobody.stderr]).toEqual([1, expect.stringContaining("no service runs")]);
  const service = store.start(["plan", "service", "run"]);
  for (let shown = await status(); shown.running?.pid !== service.pid; shown = await status());
  const second = await store.run(["plan", "service", "run"]);
  expect([second.code, second.stderr]).toEqual([
    1,
    expect.stringContaining("a service already runs"),
  ]);
  const { id } = await watching("served");
  await store.untilPlan(id, (view) => JSON.stringify(view).includes('"last_result":"one\\n"'));
  add("served", "two");
  const { runs } = await store.untilPlan(id, (view) => view.runs[0]?.status === "completed");
  expect(runs.map(({ trigger_data }) => trigger_data)).toEqual(["two"]);
  expect(await store.json(["plan", "service", "stop", "--drain", "20"])).toMatchObject({
    stopped: { pid: service.pid },
  });
  expect(await service.exited).toBe(0);
  const text = await new Response(service.stderr).text();
  expect(text).toContain(`fired ${id}: ${runs[0]?.id}`);
});

test("a service with --resume resumes an interrupted thread", async () => {
  await store.ok(["add", "play", playBundle]);
  const id = await store.play({ ms: 60_000 });
  await store.until(id, "running");
  await store.killWorkers();
  await store.until(id, "interrupted");
  const service = store.start(["plan", "service", "run", "--resume"]);
  let noted = "";
  const decoder = new TextDecoder();
  for await (const bytes of service.stderr) {
    noted += decoder.decode(bytes, { stream: true });
    if (noted.includes(`resumed ${id} of play\n`)) break;
  }
  await store.until(id, "running");
  service.kill("SIGTERM");
  expect(await service.exited).toBe(0);
  await store.ok(["kill", id]);
});

const bubblewrap = Bun.which("bwrap");
test.skipIf(bubblewrap === null)(
  "a service and a confirmation are refused without a closed sandbox",
  async () => {
    const mode = { UNCAGED_PLAN_SANDBOX_MODE: "bubblewrap" };
    const plan = await store.plan({ a: [] }, {}, mode);
    const bin = join(store.folder, "weak");
    mkdirSync(bin);
    // A bubblewrap without a process namespace, so a step can list the processes of this machine.
    const weak = `#!/bin/bash
[ "$1" = --help ] && exec ${bubblewrap} "$@"
args=()
for word in "$@"; do [ "$word" = --unshare-pid ] || args+=("$word"); done
exec ${bubblewrap} "\${args[@]}"
`;
    writeFileSync(join(bin, "bwrap"), weak, { mode: 0o755 });
    const env = { PATH: `${bin}:${process.env.PATH}`, ...mode };
    for (const args of [
      ["plan", "service", "run"],
      ["plan", "confirm", plan.id],
    ]) {
      const { code, stderr, stdout } = await store.run(args, { env });
      expect([args, code, stdout]).toEqual([args, 1, ""]);
      expect(stderr).toMatch(/^error: processes of this machine: /);
      expect(stderr).toContain("hint: use another machine");
    }
    expect((await store.json<Plan>(["plan", "show", plan.id])).phase).toBe("awaiting_confirmation");
  },
);

test("the service is installed as a unit that starts this program by its path", async () => {
  const bin = join(store.folder, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "systemctl"), "#!/bin/sh\nexit 0\n");
  chmodSync(join(bin, "systemctl"), 0o755);
  const env = { PATH: `${bin}:${process.env.PATH}` };
  const { unit } = await store.json<{ unit: string }>(["plan", "service", "install"], { env });
  const text = readFileSync(unit, "utf8");
  const [, program = ""] = /ExecStart="([^"]+)" "plan" "service" "run"/.exec(text) ?? [];
  expect(existsSync(program)).toBe(true);
  expect(text).toContain("Restart=always\nRestartSec=5\nKillMode=process\n");
  await store.ok(["plan", "service", "install", "--resume"], { env });
  expect(readFileSync(unit, "utf8")).toMatch(/^ExecStart=.*"plan" "service" "run".*"--resume"$/m);
  const shown = await store.json<Status>(["plan", "service"], { env });
  expect(shown.unit).toBe(unit);
  const other = await store.run(["plan", "service", "stop", "--drain", "soon"], { env });
  expect([other.code, other.stderr]).toEqual([2, expect.stringContaining("--drain")]);
});
