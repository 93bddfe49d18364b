import { afterAll, beforeAll, expect, test } from "bun:test";
import { create, PlanStore, planOf } from "./planned.ts";
import { removeFolders } from "./program.ts";

let store: PlanStore;
beforeAll(async () => void (store = await PlanStore.open()));
afterAll(async () => {
  await store.stop();
  removeFolders();
});

const chat = (lines: string[], env: Record<string, string> = {}) =>
  store.run(["plan", "chat"], { ...{ stdin: `${lines.join("\n")}\n`, cwd: store.work, env } });

/** Returns the hash of the plan shown last: a pipe confirms a plan only by its hash. */
const hashIn = (text: string): string =>
  /[\s\S]*confirm it with \/confirm (\w{8})\n/.exec(text)?.[1] ?? "";

test("a piped chat creates, changes, confirms and shows a plan", async () => {
  const request = { tools: [{ name: "create_workflow_request", input: {} }] };
  const trigger = { type: "cron", expression: "0 9 * * 1-5", timezone: "Europe/Berlin" };
  store.replies.push(request, create(planOf({ look: [] })));
  store.replies.push(create(planOf({ look: [], report: ["look"] }, { trigger, name: "Builds" })));
  const lines = ["which builds fail?", "and report it, at nine", "yes", "/list", "/nothing"];
  const { code, stderr, stdout } = await chat(lines);
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toContain("Trigger: manual");
  expect(stdout).toContain("2. report (after look): do report");
  expect(stdout).toMatch(/Next: \d{4}-\d\d-\d\dT0[78]:00:00\.000Z, /);
  expect(stdout).toContain("Sandbox: ");
  expect(stdout).not.toContain("Confirmed");
  expect(stdout).toMatch(/\nwf_\S+ {2}awaiting_confirmation {2}Builds\n/);
  expect(stdout).toContain("unknown command /nothing");
  const confirmed = await chat([`/confirm ${hashIn(stdout)}`]);
  expect(confirmed.stdout).toContain("Confirmed: Builds is active.");
});

test("a chat without a key for the model still shows and runs plans", async () => {
  const { id } = await store.plan({ look: [] });
  const shown = await chat([`/show ${id}`]);
  const lines = [`/confirm ${hashIn(shown.stdout)}`, "/status", "plan something"];
  const { code, stdout } = await chat(lines, { ANTHROPIC_API_KEY: "" });
  expect(code).toBe(0);
  expect(stdout).toContain("The planner has no model");
  expect(stdout).toContain("runs now (run_");
  expect(stdout).toContain("There is no plan: ");
  await store.untilPhase(id, "completed");
});
