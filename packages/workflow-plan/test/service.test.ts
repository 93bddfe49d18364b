import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { removeStores } from "../../workflow/test/fixtures/store.ts";
import { does, TestHome, workflow } from "./home.ts";
import { plan } from "./parts.ts";

/* Plans from their confirmation to the end of their runs, with real workers. */
setDefaultTimeout(180_000);
afterEach(removeStores);

test("a confirmed manual plan runs to its end, and its rows agree with its thread", async () => {
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

test("a definition that contains a secret's value is stored with the secret's name instead", async () => {
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
