import { expect, test } from "bun:test";
import { join } from "node:path";
import { openLocalHost } from "@uncaged/workflow/host";
import { openPlans } from "../../../packages/workflow-plan/src/entry/service.ts";
import type { Page } from "playwright-core";
import { keepPicture, open, useConsoleProcess } from "./browser.ts";
import { violationsOf } from "./violations.ts";

const serving = useConsoleProcess();
serving.flags.push("--no-plans");
serving.more = {
  ...serving.more,
  UNCAGED_PLAN_AGENT_COMMAND: join(
    import.meta.dir,
    "../../../packages/cli-workflow/test/agents/agent.sh",
  ),
  UNCAGED_PLAN_SANDBOX_MODE: "off",
};

const sentence = "The trigger of this plan does not fire: no service is running.";

/** Creates a plan with a trigger, as another program does. */
async function create(id: string): Promise<void> {
  const host = openLocalHost({ path: serving.path });
  const home = join(serving.path, "plans");
  const plans = openPlans({ host, home, env: {}, cwd: serving.folder });
  const at = "2026-01-01T00:00:00.000Z";
  await plans.create({
    ...{ schema_version: "1.0", id, name: `At nine, ${id}`, description: "d" },
    trigger: { type: "cron", expression: "0 9 * * *" },
    steps: [{ id: "a", description: "do a", agent: "claude", inputs: {}, depends_on: [] }],
    failure_policy: { on_step_failure: "stop", max_retries: 0, retry_delay_ms: 0 },
    ...{ phase: "awaiting_confirmation", created_at: at, updated_at: at },
  });
  plans.close();
}

/** Counts how often the page shows the sentence. */
const watchSentence = (page: Page) =>
  page.addInitScript((text) => {
    const counted = window as unknown as { seen: number };
    counted.seen = 0;
    new MutationObserver(() => {
      if (document.body?.innerText.includes(text)) counted.seen += 1;
    }).observe(document, { childList: true, subtree: true, characterData: true });
  }, sentence);

test("a confirmed plan whose trigger nothing fires has a red notice until a server fires it", async () => {
  await create("wf_nine");
  const page = await open(serving, "/plans/wf_nine");
  const alert = page.getByRole("alert").getByText(sentence);
  const confirm = page.getByRole("button", { name: "Confirm", exact: true });
  await confirm.waitFor();
  expect(await alert.count()).toBe(0);
  await confirm.click();
  await alert.waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await keepPicture(page, "plan-not-firing");
  await page.goto(new URL("/plans", page.url()).href);
  await page.getByText("Does not fire ·").waitFor();
  await page.goto(new URL("/plans/wf_nine", page.url()).href);

  // Another program fires the triggers, and stops.
  const other = serving.spawn("serve", "--port", "0");
  await alert.waitFor({ state: "detached" });
  await page.getByText("Next fire", { exact: true }).waitFor();
  other.kill();
  await other.exited;
  await alert.waitFor();
}, 600_000);

test("the sentence is not shown for a moment after a confirmation", async () => {
  const { port } = serving;
  await serving.stop();
  serving.flags.pop();
  await serving.serve(port);
  await create("wf_ten");
  const page = await open(serving, "/inbox");
  await watchSentence(page);
  await page.goto(new URL("/plans/wf_ten", page.url()).href);
  await page.getByRole("button", { name: "Confirm", exact: true }).click();
  await page.getByText("Next fire", { exact: true }).waitFor();
  expect(await page.evaluate(() => (window as unknown as { seen: number }).seen)).toBe(0);
}, 600_000);
