// @cluster: it starts a server and workers, and kills workers.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../workflow/test/fixtures/until.ts";
import { missingServer } from "../../workflow-restate/test/fixtures/server.ts";
import { type Plan, PlanStore, type Started } from "./planned.ts";
import { removeFolders } from "./program.ts";

setDefaultTimeout(60_000);

type Up = { host: string; uri: string; pids: { servers: number[]; workers: number[] } };

/** As {@link PlanStore}, with the plans on a cluster of this machine. */
let store: PlanStore;
let up: Up;
/** What was started beside the cluster. */
const processes: Bun.Subprocess[] = [];
const onCluster = describe.skipIf(missingServer !== "");

beforeAll(async () => {
  if (missingServer !== "") return;
  store = await PlanStore.open();
  up = await store.json<Up>(["cluster", "up", "--workers", "3"]);
  store.more.UNCAGED_WORKFLOW_HOST = up.host;
});
afterAll(async () => {
  for (const child of processes) child.kill("SIGKILL");
  if (missingServer === "") {
    await store.ok(["cluster", "down", "--data"]);
    await store.stop();
  }
  removeFolders();
});

const asking = {
  failure_policy: { on_step_failure: "ask_user", max_retries: 0, retry_delay_ms: 0 },
};
const statesOf = ({ runs }: { runs: { steps: { status: string }[] }[] }) =>
  runs.map(({ steps }) => steps.map(({ status }) => status));

onCluster(`plans on a cluster${missingServer}`, () => {
  test("one is made, shown, confirmed, asks, is answered, run again and deleted", async () => {
    const { id } = await store.plan({ b: [], a: ["b"] }, asking);
    expect((await store.json<Plan[]>(["plan", "list"])).map((plan) => plan.id)).toEqual([id]);
    store.mark("broken", ["b"]);
    const { code } = await store.run(["plan", "confirm", id, "--wait"]);
    expect(code).toBe(6);
    store.mark("broken", []);
    await store.ok(["plan", "answer", id, "retry"]);
    const done = await store.untilPhase(id, "completed");
    expect(statesOf(done)).toEqual([["succeeded", "succeeded"]]);
    expect(done.runs[0]?.steps.map(({ output_json }) => output_json)).toEqual([
      '"done: do b"',
      '"done: do a"',
    ]);
    expect((await store.run(["plan", "run", id, "--data", "x", "--wait"])).code).toBe(0);
    expect((await store.view(id)).runs.map(({ trigger_data }) => trigger_data)).toEqual([
      "x",
      null,
    ]);
    expect(await store.json<object>(["plan", "rebuild"])).toEqual({ runs: 2 });
    await store.ok(["plan", "delete", id]);
    expect(await store.json<Plan[]>(["plan", "list"])).toEqual([]);
    // Nothing of it is in the storage root.
    expect(existsSync(join(store.root, "plans/plans.db"))).toBe(false);
  });

  test("a credential of the workers' machine reaches a step, and none is in the cluster", async () => {
    const { code, stderr } = await store.run(["plan", "secret", "set", "A_TOKEN"], { stdin: "x" });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining("credentials are never in a cluster"),
    });
    const value = "value-of-the-token";
    const root = ["--root", store.root];
    await store.ok(["plan", "secret", "set", "A_TOKEN", ...root], { stdin: value });
    const agent = join(store.folder, "credential.sh");
    writeFileSync(agent, answersCredential, { mode: 0o755 });
    const description = `use A_TOKEN, which is ${value}`;
    const steps = [{ id: "a", description, agent: "claude", inputs: {}, depends_on: [] }];
    const { id } = await store.plan({}, { steps });
    const step = ["plan", "confirm", id, "--wait", "--json", "--agent", agent];
    const { threadId } = await store.json<Started>(step);
    const thread = await store.ok(["thread", threadId ?? "", "--json"]);
    expect(thread).toContain("it is [secret:A_TOKEN]");
    const everything = [thread, await store.ok(["plan", "show", id, "--json"])];
    for (const text of [...everything, await store.ok(["logs", threadId ?? ""])])
      expect(text).not.toContain(value);
  });

  test("a trigger fires once, however many look at it, while they and the workers are lost", async () => {
    const agent = join(store.folder, "audits.sh");
    writeFileSync(agent, audits, { mode: 0o755 });
    const env = { UNCAGED_PLAN_AGENT_COMMAND: agent };
    writeFileSync(join(store.work, "items"), "");
    const inputs = { data: "$trigger_data" };
    const watch = { type: "poll", interval_seconds: 1, check_script: "cat items" };
    const every = { type: "cron", expression: "* * * * *" };
    const ids: string[] = [];
    for (const trigger of [{ ...watch, diff_mode: "new_items" }, every]) {
      const steps = [{ id: "a", description: "note it", agent: "claude", inputs, depends_on: [] }];
      const { id } = await store.plan({}, { trigger, steps });
      ids.push(id);
      await store.ok(["plan", "confirm", id]);
    }
    const begun = Date.now();
    const [poll = "", cron = ""] = ids;

    let homes = 0;
    const started = (words: string[], more: Record<string, string> = {}) => {
      const child = store.start(words, { env: { ...env, ...more }, cwd: store.work });
      processes.push(child);
      return child;
    };
    // Each is a machine of its own, with a plan home of its own.
    const service = () => {
      const home = join(store.folder, `home-${(homes += 1)}`);
      return started(["plan", "service", "run", "--json"], { UNCAGED_PLAN_HOME: home });
    };
    const services = [service(), service()];
    const servers = [0, 1].map(() => started(["serve", "--port", "0", "--json"]));
    const lists = await Promise.all(servers.map(listOf));
    const workers = [...up.pids.workers];

    const audit = (): string[] => linesIn(join(store.work, "audit"));
    const lines = Array.from({ length: 12 }, (_, n) => `line-${n}-`);
    // The first check has nothing to compare with.
    await until(async () => (await store.view(poll)).trigger.last_result === "");
    for (const [n, line] of lines.entries()) {
      appendFileSync(join(store.work, "items"), `${line}\n`);
      for (const list of lists) expect((await list()).status).toBe(200);
      if (n === 4) services.shift()?.kill("SIGKILL");
      if (n === 5) services.push(service());
      if (n === 8) services[0]?.kill("SIGSTOP");
      if (n === 10) services[0]?.kill("SIGCONT");
      await until(
        () => audit().some((entry) => entry.includes(line)),
        () => `${line} has not fired`,
      );
      if (n % 2 === 1) {
        process.kill(workers.shift() ?? 0, "SIGKILL");
        workers.push(started(["worker", "--port", "0", "--json"]).pid);
      }
    }
    await until(
      async () => (await store.view(cron)).runs.length > 0,
      () => "the cron trigger has not fired",
    );
    const ended = (id: string) =>
      store.untilPlan(id, ({ runs }) => runs.every(({ status }) => status !== "running"));
    const [polled, slots] = [await ended(poll), await ended(cron)];
    for (const child of processes) child.kill("SIGKILL");
    await Promise.all(processes.map((child) => child.exited));

    // What the agents have noted, against what was to fire and against what is recorded.
    const runsWith = (text: string) =>
      new Set(audit().flatMap((entry) => (entry.includes(text) ? runIn(entry) : [])));
    expect(lines.map((line) => [line, runsWith(line).size])).toEqual(
      lines.map((line) => [line, 1]),
    );
    const all = [...polled.runs, ...slots.runs];
    expect(all.map(({ status }) => status)).toEqual(all.map(() => "completed"));
    expect(new Set(audit().flatMap(runIn))).toEqual(new Set(all.map(({ id }) => id)));
    const fired = slots.runs.map(({ trigger_data }) => Date.parse(trigger_data ?? ""));
    expect(fired.toReversed()).toEqual(
      fired.map((_, n) => (Math.floor(begun / 60_000) + 1 + n) * 60_000),
    );
    const threads = await store.json<{ threadId: string }[]>(["threads", "--limit", "1000"]);
    const own = new Set(threads.map(({ threadId }) => `run_${threadId}`));
    expect(all.filter(({ id }) => !own.has(id))).toEqual([]);
  }, 240_000);
});

/** An agent that answers what its credential is. */
const answersCredential = `#!/bin/sh
cat >/dev/null
printf '{"type":"result","subtype":"success","session_id":"s","is_error":false,"result":"it is %s"}\\n' "$A_TOKEN"
`;

/** An agent that notes its arguments, which name its run, and its prompt, which has the trigger's data. */
const audits = `#!/bin/sh
prompt=$(tr '\\n"' ' ~')
printf '%s %s\\n' "$*" "$prompt" >>audit
sleep 0.3
printf '{"type":"result","subtype":"success","session_id":"s","is_error":false,"result":"noted"}\\n'
`;

const linesIn = (path: string): string[] =>
  existsSync(path) ? readFileSync(path, "utf8").split("\n").filter(Boolean) : [];

const runIn = (entry: string): string[] => /run_[0-9A-Z]{26}/.exec(entry)?.slice(0, 1) ?? [];

/** What asks a server for the plans. */
async function listOf(server: Bun.Subprocess<Uint8Array, "pipe", "pipe">) {
  const { value } = await server.stdout.getReader().read();
  const { token, url } = JSON.parse(new TextDecoder().decode(value)) as Record<string, string>;
  const headers = { Authorization: `Bearer ${token}` };
  return () => fetch(`${new URL(url ?? "").origin}/api/plans`, { headers });
}
