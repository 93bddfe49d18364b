import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { until } from "../../workflow/test/fixtures/until.ts";
import { ask, create, PlanStore, planOf, type Turned } from "./planned.ts";
import { hasScript, removeFolders } from "./program.ts";

setDefaultTimeout(60_000);
let store: PlanStore;
beforeAll(async () => void (store = await PlanStore.open()));
afterAll(async () => {
  await store.stop();
  removeFolders();
});

test("while one command is in a planner session, others are refused; one that is killed leaves it free", async () => {
  store.replies.push(ask("Which ones?"));
  const { session } = await store.json<Turned>(["plan", "new", "which builds fail?"]);
  const answer = (text: string) => ["plan", "answer-question", session, text];
  store.replies.push({ fault: { kind: "hang" } });
  const first = store.start(answer("the first ones"));
  await until(() => store.asked.includes("the first ones"));
  const second = await store.run(answer("the second ones"));
  expect(second).toMatchObject({ code: 1, stdout: "" });
  expect(second.stderr).toMatch(/^error: the planner is at work on ps_[^\n]+\n$/);
  first.kill("SIGKILL");
  await first.exited;
  store.replies.push(create(planOf({ look: [] })));
  const { workflow } = await store.json<Turned>(answer("the third ones"));
  expect(workflow?.phase).toBe("awaiting_confirmation");
  expect(store.asked).not.toContain("the second ones");
});

test("credentials and settings that are stored at once are all kept", async () => {
  const names = ["A_TOKEN", "B_TOKEN", "C_TOKEN"];
  const keys = ["max_runs", "max_parallel_steps", "answer_timeout_ms"];
  await Promise.all([
    ...names.map((name) => store.ok(["plan", "secret", "set", name], { stdin: name })),
    ...keys.map((key) => store.ok(["plan", "config", "set", key, "7"])),
  ]);
  expect(await store.json<string[]>(["plan", "secret", "list"])).toEqual(names);
  const entries = await store.json<{ key: string; value: unknown }[]>(["plan", "config"]);
  const kept = entries.filter(({ key }) => keys.includes(key)).map(({ value }) => value);
  expect(kept).toEqual([7, 7, 7]);
});

test.if(hasScript)(
  "a terminal shows what the model writes; programs and pipes get its turn",
  async () => {
    const text = "I look at what there is.";
    store.replies.push({ ...ask("Which ones?"), text });
    const shown = await store.onTerminal("plan new 'which builds fail?'");
    expect(shown.indexOf(text)).toBeGreaterThanOrEqual(0);
    expect(shown.indexOf("Which ones?")).toBeGreaterThan(shown.indexOf(text));
    store.replies.push({ text: "I can't \u001b[2J plan that." });
    const answered = await store.onTerminal("plan new 'sing'");
    expect(answered.split("plan that.")).toHaveLength(2);
    expect(answered).toContain("I can't \\u001b[2J plan that.");
    store.replies.push({ ...ask("Which ones?"), text });
    expect(await store.onTerminal("plan new 'which?' --json")).not.toContain(text);
    store.replies.push({ ...ask("Which ones?"), text });
    const piped = await store.run(["plan", "new", "which builds fail?"]);
    expect(piped.stdout).toBe("Which ones?\n");
    expect(piped.stderr).not.toContain(text);
  },
);
