import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { removeStores } from "../../workflow/test/fixtures/store.ts";
import { cron, does, hello, poll, TestHome, workflow } from "./home.ts";
import { plan } from "./parts.ts";

/* Plans from their confirmation to the end of their runs, with real workers. */
setDefaultTimeout(180_000);
afterEach(removeStores);

test("a confirmed manual plan runs to its end, and its rows are those of its thread", async () => {
  const { ended, plans } = bound(new TestHome());
  const { id } = await plans.create(
    workflow(
      plan([does("a", "say hello"), does("b", "say bye", ["a"])], {}, { name: "Crème, brûlée" }),
    ),
  );
  const started = await plans.confirm(id);
  expect(started).toMatchObject({ workflowId: id, runId: `run_${started.threadId}` });
  const { metadata, phase, runs } = await ended(id);
  expect([phase, metadata?.bundle?.name]).toEqual(["completed", "creme-brulee"]);
  const [run] = runs;
  expect(run).toMatchObject({ id: started.runId, status: "completed", error: null });
  expect(run?.steps).toMatchObject([
    { step_id: "a", status: "succeeded", output_json: '"said hello"', error: null },
    { step_id: "b", status: "succeeded", output_json: '"said bye"' },
  ]);
  const again = await plans.run(id, { data: "by hand" });
  expect(again.phase).toBe("completed");
  const { runs: both } = await ended(id);
  expect(both.map(({ trigger_data }) => trigger_data)).toEqual(["by hand", null]);
});

test("a confirmed poll or cron plan is active, and no run begins", async () => {
  const { plans } = bound(new TestHome());
  for (const trigger of [poll, cron]) {
    const { id } = await plans.create(workflow(hello({ trigger })));
    const started = await plans.confirm(id);
    expect(started).toEqual({ workflowId: id, phase: "active", runId: null, threadId: null });
    const { runs, trigger_state } = await plans.show(id);
    expect([runs, trigger_state?.last_fire_at]).toEqual([[], null]);
  }
});

test("a run that failed is retried from what has succeeded", async () => {
  const { ended, plans } = bound(new TestHome());
  const { id } = await plans.create(
    workflow(
      plan([does("good", "say good"), does("bad", "fail-once"), does("end", "say end", ["bad"])]),
    ),
  );
  await plans.confirm(id);
  const failed = await ended(id);
  expect([failed.phase, failed.runs[0]?.error]).toEqual([
    "failed",
    'step bad failed: the command "claude.mjs" failed: it broke',
  ]);
  await plans.retry(id);
  const { phase, runs } = await ended(id);
  expect(phase).toBe("failed");
  expect(runs.map(({ steps }) => steps.map(({ status }) => status))).toEqual([
    ["succeeded", "failed", "skipped"],
    ["succeeded", "failed", "skipped"],
  ]);
});

test("a definition that has the value of a secret is stored with its name instead", async () => {
  const { plans } = bound(new TestHome());
  plans.secrets.set("A_TOKEN", "value-of-a-token");
  const steps = [{ ...does("a", "use value-of-a-token"), inputs: { deep: ["value-of-a-token"] } }];
  const made = workflow(plan(steps, {}, { description: "it is value-of-a-token" }));
  const { id } = await plans.create(made);
  await plans.cancel(id);
  await plans.replace({ ...made, name: "with value-of-a-token" });
  expect(JSON.stringify(plans.database.rows("SELECT * FROM workflows"))).not.toContain("value-of");
  expect(plans.get(id)).toMatchObject({
    ...{ name: "with [secret:A_TOKEN]", description: "it is [secret:A_TOKEN]" },
    steps: [{ description: "use [secret:A_TOKEN]", inputs: { deep: ["[secret:A_TOKEN]"] } }],
  });
});

const bound = (home: TestHome) => ({ plans: home.plans, ended: home.ended.bind(home), home });
