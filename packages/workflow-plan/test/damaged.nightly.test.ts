import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { failureOf } from "../../workflow-agents/test/published.ts";
import { removeStores } from "../../workflow/test/fixtures/store.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { does, hello, TestHome, workflow } from "./home.ts";
import { plan } from "./parts.ts";
import { bot, closeBots } from "./router/chat.ts";

/* One damaged row of `workflows`: errors name the row, and the other plans work as if the row were missing. */
setDefaultTimeout(180_000);
afterEach(async () => {
  await closeBots();
  await removeStores();
});

const damage = (home: TestHome, id: string, column: string, value: string) =>
  home.plans.database.run(`UPDATE workflows SET ${column} = ? WHERE id = ?`, value, id);

test("the other plans are listed, and each damaged plan is named with its column", async () => {
  const home = new TestHome();
  const { plans } = home;
  const columns = {
    trigger_json: ["{", "is not valid JSON"],
    steps_json: ['{"a": 1}', "is not a list"],
    failure_policy_json: ["[]", "is not an object"],
    metadata_json: ["7", "is not an object"],
  } as const;
  const expected: string[] = [];
  for (const [column, [value, problem]] of Object.entries(columns)) {
    const { id } = await plans.create(workflow(hello()));
    damage(home, id, column, value);
    expected.push(`the plan ${id} is damaged: ${column} ${problem}`);
  }
  const good = await plans.create(workflow(hello()));
  const named: string[] = [];
  const all = await plans.list((_id, error) => named.push((error as Error).message));
  expect(all.map(({ id }) => id)).toEqual([good.id]);
  expect(named.toSorted()).toEqual(expected.toSorted());
  expect(String(await failureOf(plans.list()))).toContain("is damaged");
});

test("other plans are shown, run, confirmed and notified beside a damaged plan with an open run", async () => {
  const { home, notices, plans, texts, write } = await bot();
  const owner = { channel: "telegram", chatJid: "42", sender: "7" };
  const waits = await plans.create(workflow(plan([does("a", "wait")], {}, { name: "Waits" })));
  const { runId } = await plans.confirm(waits.id);
  for (const column of ["trigger_json", "steps_json", "metadata_json"])
    damage(home, waits.id, column, "{");
  const { id } = await plans.create(workflow(hello({ name: "Waits" }), { metadata: { owner } }));
  expect((await plans.show(id)).phase).toBe("awaiting_confirmation");
  await plans.confirm(id);
  expect((await home.ended(id)).phase).toBe("completed");
  await notices.send();
  expect(texts()).toEqual(["Waits has completed.\nhello:\nsaid hello"]);
  const [list] = await write("/list");
  expect(list).toContain(`completed  Waits`);
  expect(list).toContain(`the plan ${waits.id} is damaged: metadata_json is not valid JSON`);
  // The run of the damaged plan ends. Only the change of the plan's phase waits for the repair.
  writeFileSync(join(home.store.folder, "go"), "");
  const runOf = () => plans.findRun(runId ?? "");
  await until(async () => (await plans.refresh(), runOf().status === "completed"));
  expect(await plans.remove(waits.id).then(() => "removed", String)).toContain("is executing");
  damage(home, waits.id, "trigger_json", JSON.stringify(waits.trigger));
  await plans.refresh();
  expect(await failureOf(plans.show(waits.id))).toMatchObject({
    hint: expect.stringContaining(`plan delete ${waits.id}`),
  });
  await plans.remove(waits.id);
  expect(await plans.list()).toHaveLength(1);
});
