// @cluster: it starts a server and workers.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { isWhole } from "../../workflow/test/fixtures/cases.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { missingServer } from "../../workflow-restate/test/fixtures/server.ts";
import { create, type Plan, PlanStore, planOf, type Started, type Turned } from "./planned.ts";
import { removeFolders } from "./program.ts";

setDefaultTimeout(180_000);

/** As {@link PlanStore}, with the plans on a cluster of this machine. */
let store: PlanStore;

beforeAll(async () => {
  if (missingServer !== "") return;
  store = await PlanStore.open();
  const { host } = await store.json<{ host: string }>(["cluster", "up", "--workers", "2"]);
  store.more.UNCAGED_WORKFLOW_HOST = host;
});
afterAll(async () => {
  if (missingServer === "") {
    await store.ok(["cluster", "down", "--data"]);
    await store.stop();
  }
  removeFolders();
});

const stepsOf = ({ steps }: Plan): string[] => steps.map(({ id }) => id);
const weekdays = { type: "cron", expression: "0 9 * * 1-5" };

/** The threads that the cluster has anything to do for. */
const running = async (): Promise<string[]> =>
  (await store.json<{ threadId: string }[]>(["ps"])).map(({ threadId }) => threadId);

/** Confirms a plan and waits until its only step is at work. */
async function confirmed(id: string): Promise<string> {
  store.mark("waiting", ["slow"]);
  const { threadId } = await store.json<Started>(["plan", "confirm", id]);
  await store.untilPlan(id, ({ runs }) => runs[0]?.steps[0]?.status === "running");
  return threadId ?? "";
}

describe.skipIf(missingServer !== "")(`a plan on a cluster${missingServer}`, () => {
  test("is paused while a step is at work, and resumed", async () => {
    const { id } = await store.plan({ slow: [], next: ["slow"] });
    const threadId = await confirmed(id);
    await store.ok(["plan", "pause", id]);
    store.mark("waiting", []);
    const isPaused = async () =>
      (await store.json<{ status: string }>(["thread", threadId])).status === "paused";
    await until(isPaused);
    const paused = await store.view(id);
    expect([paused.phase, paused.runs[0]?.steps.map(({ status }) => status)]).toEqual([
      "paused",
      ["succeeded", "pending"],
    ]);
    const { code, stderr } = await store.run(["plan", "run", id]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^error: .*paused[^\n]*\n$/)]);
    await store.ok(["plan", "resume", id]);
    const done = await store.untilPhase(id, "completed");
    expect(done.runs[0]?.steps.map(({ status }) => status)).toEqual(["succeeded", "succeeded"]);
  });

  test("is made, changed, confirmed, run and listed in a chat", async () => {
    const request = { tools: [{ name: "create_workflow_request", input: {} }] };
    store.replies.push(request, create(planOf({ look: [] }, { name: "Builds" })));
    store.replies.push(create(planOf({ look: [], report: ["look"] }, { name: "Builds" })));
    const chat = (lines: string[]) =>
      store.run(["plan", "chat"], { ...{ stdin: lines.join("\n"), cwd: store.work } });
    const { code, stderr, stdout } = await chat(["which builds fail?", "and report it", "/list"]);
    expect([code, stderr]).toEqual([0, ""]);
    const hashes = [...stdout.matchAll(/confirm it with \/confirm (\w{8})/g)];
    expect((await chat([`/confirm ${hashes.at(-1)?.[1]}`])).stdout).toContain("Confirmed: Builds");
    expect(stdout).toContain("2. report (after look): do report");
    const [id = ""] = /wf_\w+(?= {2}\w+ {2}manual {2}Builds)|wf_\w+/.exec(stdout) ?? [];
    const done = await store.untilPhase(id, "completed");
    expect(stepsOf(done)).toEqual(["look", "report"]);
  });

  // Where not all cases are asked for, no plan in force is changed and none is cancelled on a cluster: the chat above changes
  // only a draft. plan.nightly.test.ts cancels one on this machine.
  if (isWhole) {
    test("is modified before it is confirmed, and after", async () => {
      const { id } = await store.plan({ look: [] }, { trigger: weekdays });
      const steps = { look: [], report: ["look"] };
      store.replies.push(create(planOf(steps, { trigger: weekdays })));
      const changed = await store.json<Turned>(["plan", "modify", id, "and report it"]);
      expect(changed.workflow?.id).toBe(id);
      expect(stepsOf(await store.view(id))).toEqual(["look", "report"]);
      await store.ok(["plan", "confirm", id]);

      // A change of a plan that is in force is a draft until it is confirmed.
      store.replies.push(create(planOf({ ...steps, mail: ["report"] }, { trigger: weekdays })));
      await store.ok(["plan", "modify", id, "and mail it"]);
      expect(stepsOf(await store.view(id))).toEqual(["look", "report"]);
      await store.ok(["plan", "confirm", id]);
      expect(stepsOf(await store.view(id))).toEqual(["look", "report", "mail"]);
      expect((await store.run(["plan", "run", id, "--wait"])).code).toBe(0);
      const [run] = (await store.view(id)).runs;
      expect(run?.steps.map(({ output_json }) => output_json)).toEqual([
        '"done: do look"',
        '"done: do report"',
        '"done: do mail"',
      ]);
    });

    test("is cancelled while a step is at work, which ends its thread", async () => {
      const { id } = await store.plan({ slow: [], next: ["slow"] });
      const threadId = await confirmed(id);
      expect(await running()).toContain(threadId);
      await store.ok(["plan", "cancel", id]);
      const view = await store.untilPhase(id, "failed");
      expect(view.runs[0]).toMatchObject({ status: "failed", error: "cancelled by user" });
      store.mark("waiting", []);
      await until(async () => !(await running()).includes(threadId));
      expect(await store.json<object>(["thread", threadId])).toMatchObject({ status: "killed" });
      await store.ok(["plan", "delete", id]);
    });
  }
});
