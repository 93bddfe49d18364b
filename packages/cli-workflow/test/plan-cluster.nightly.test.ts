// @cluster: starts a server and workers, and kills workers.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { missingServer } from "../../workflow-restate/test/fixtures/server.ts";
import { type Plan, PlanStore, type Started } from "./planned.ts";
import { removeFolders } from "./program.ts";

setDefaultTimeout(60_000);

type Up = { host: string; uri: string; pids: { servers: number[]; workers: number[] } };

/** A {@link PlanStore} whose plans are on a cluster of this machine. */
let store: PlanStore;
let up: Up;
/** Other processes that the tests started. */
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
  test("a plan is created, shown, confirmed, asks, is answered, runs again and is deleted", async () => {
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
    // The storage root contains none of this data.
    expect(existsSync(join(store.root, "plans/plans.db"))).toBe(false);
  });

  test("a credential of the workers' machine reaches a step, and the cluster stores none", async () => {
    const { code, stderr } = await store.run(["plan", "secret", "set", "A_TOKEN"], { stdin: "x" });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining("credentials are never stored there"),
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
});

/** An agent that answers with its credential. */
const answersCredential = `#!/bin/sh
cat >/dev/null
printf '{"type":"result","subtype":"success","session_id":"s","is_error":false,"result":"it is %s"}\\n' "$A_TOKEN"
`;
