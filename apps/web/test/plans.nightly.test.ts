import { afterAll, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { anthropicServer } from "../../../packages/workflow-agents/test/anthropic-server.ts";
import { openLocalHost } from "@uncaged/workflow/host";
import { openPlans } from "../../../packages/workflow-plan/src/entry/service.ts";
import type { Reply } from "../../../packages/workflow-agents/test/wire.ts";
import { keepPicture, open, useConsoleProcess } from "./browser.ts";
import { editPlan } from "./editor.ts";
import { keyboard } from "./hand.ts";
import { darken, violationsOf } from "./violations.ts";

const replies: Reply[] = [];
const model = await anthropicServer(() => replies.shift() ?? { text: "?" });
afterAll(async () => await model.stop(), 60_000);

const serving = useConsoleProcess();
serving.more = {
  ...serving.more,
  ANTHROPIC_API_KEY: model.key,
  ANTHROPIC_BASE_URL: model.url,
  UNCAGED_PLAN_AGENT_COMMAND: join(
    import.meta.dir,
    "../../../packages/cli-workflow/test/agents/agent.sh",
  ),
  UNCAGED_PLAN_SANDBOX_MODE: "off",
};

const step = (id: string, ...depends_on: string[]) => ({
  ...{ id, description: `do ${id}`, agent: "claude" as const, inputs: {}, depends_on },
});

const twoSteps: object[] = [step("look"), step("report", "look")];

const made = (name: string, trigger: object, steps = twoSteps): Reply => ({
  text: "Here it is.",
  tools: [
    {
      name: "create_workflow",
      input: {
        ...{ name, description: "Which builds fail?", trigger },
        steps,
        failure_policy: { on_step_failure: "ask_user", max_retries: 0, retry_delay_ms: 0 },
      },
    },
  ],
});

const part = (page: Page, name: string) => page.getByRole("region", { name, exact: true });
const state = (page: Page, word: string) => page.getByRole("heading", { level: 1 }).getByText(word);
const node = (page: Page, name: string, word: string) =>
  page.getByRole("button", { name: new RegExp(`^${name}\\b.*${word}$`) });
const tooWide = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

test("a plan is made with the planner, confirmed, run and decided on by keyboard alone", async () => {
  const page = await open(serving, "/plans");
  await page.getByText("No plan yet").waitFor();
  const hand = keyboard(page);
  await page.keyboard.press("n");
  await page.waitForURL("**/plans/new");
  replies.push({
    text: "One moment.",
    tools: [{ name: "ask_question", input: { question: "Which repositories?" } }],
  });
  await hand.write("What do you want done, and when?", "tell me which builds fail");
  await page.keyboard.press("Enter");
  await page.getByText("Which repositories?").waitFor();
  replies.push(made("Failing builds", { type: "manual" }));
  await hand.write("Your message", "mine");
  await hand.press("button", "Send");
  const confirmation = part(page, "To be confirmed");
  await confirmation.getByText("Runs only when you start it").waitFor();
  await page.getByRole("figure", { name: "Graph of the plan" }).getByText("do report").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await keepPicture(page, "plan-new");

  writeFileSync(join(serving.folder, "broken"), "do look\n");
  await hand.press("button", "Confirm and run");
  await page.waitForURL("**/plans/wf_*");
  const decisions = part(page, "Decisions to take");
  await decisions.getByText("do look is broken").waitFor();
  await state(page, "executing").waitFor();
  await node(page, "look", "waiting").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await darken(page);
  expect(await violationsOf(page, "color-contrast")).toEqual([]);
  await keepPicture(page, "plan-asks-dark");

  rmSync(join(serving.folder, "broken"));
  await hand.press("button", "Retry look");
  await state(page, "completed").waitFor();
  const runs = part(page, "Runs");
  const steps = part(page, "Steps");
  await node(page, "report", "done").click();
  await steps.getByText("done: do report").waitFor();
  expect(await decisions.count()).toBe(0);

  await hand.press("button", "Run…");
  await hand.write("Trigger data (optional)", "three of them");
  await hand.press("button", "Run", page.getByRole("dialog"));
  await runs.getByText("three of them").waitFor();
  await expectRuns(page, 2);
  await state(page, "completed").waitFor();
  const first = runs.getByRole("button", { name: /^Run of/ }).nth(1);
  await first.click();
  expect(await first.getAttribute("aria-pressed")).toBe("true");
  await steps.getByText("done: do report").waitFor();
  await runs.getByRole("link").first().click();
  await page.waitForURL("**/threads/*");
}, 600_000);

const expectRuns = async (page: Page, count: number) =>
  await part(page, "Runs")
    .getByRole("button", { name: /^Run of/ })
    .nth(count - 1)
    .waitFor();

test("a plan with a trigger shows its next fires, is paused, changed and deleted, even on a phone", async () => {
  const id = await plan(made("Every morning", { type: "cron", expression: "0 9 * * *" }));
  const page = await open(serving, "/plans", { width: 380, height: 760 });
  const row = page.getByRole("listitem").filter({ hasText: "Every morning" });
  await row.getByText("to be confirmed").waitFor();
  expect([await violationsOf(page), await tooWide(page)]).toEqual([[], 0]);
  await keepPicture(page, "plans-phone");
  await row.getByRole("link").click();
  await page.getByText("Every day at 9:00, UTC").waitFor();
  expect([await violationsOf(page), await tooWide(page)]).toEqual([[], 0]);
  await keepPicture(page, "plan-phone");
  const desk = await open(serving, `/plans/${id}`, { width: 1440, height: 900 });
  await editPlan({ page: desk, serving, id }, "0 9 * * *", "0 99 * * *");
  await desk.getByRole("button", { name: "Save", exact: true }).click();
  await desk.getByRole("alert").first().waitFor();
  await desk.getByRole("link", { name: "To the plan" }).click();
  await editPlan({ page: desk, serving, id }, "0 9 * * *", "30 9 * * *");
  await desk.getByRole("button", { name: "Save", exact: true }).click();
  await part(page, "To be confirmed").getByText("Every day at 9:30, UTC").waitFor();
  await page.getByRole("button", { name: "Confirm", exact: true }).click();
  await state(page, "active").waitFor();
  await page.getByText("Next fire", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await state(page, "paused").waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await state(page, "active").waitFor();

  replies.push(made("Every evening", { type: "cron", expression: "0 18 * * *" }));
  await page.getByLabel("What should change?").fill("in the evening");
  await page.getByRole("button", { name: "Change it" }).click();
  await part(page, "To be confirmed").getByText("Every day at 18:00, UTC").waitFor();
  await page.getByRole("button", { name: "Drop the change" }).click();
  await part(page, "To be confirmed").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.waitForURL("**/plans");
  await row.waitFor({ state: "detached" });
}, 600_000);

test("a placeholder of another template language in an input of a plan has a warning with the right notation", async () => {
  const report = { ...step("report", "look"), inputs: { of: "{{look}}", as: "${look.output}" } };
  const id = await plan(made("Literal", { type: "manual" }, [step("look"), report]));
  const page = await open(serving, `/plans/${id}`);
  const warnings = part(page, "Steps").getByRole("list", { name: "Warnings" });
  for (const text of ["{{look}}", "${look.output}"]) {
    await warnings.getByText(`"${text}" stays as it is; write $steps.look.output`).waitFor();
  }
  expect(await violationsOf(page)).toEqual([]);
  await keepPicture(page, "plan-warnings");
  await editPlan({ page, serving, id }, /\{\{look\}\}|\$\{look\.output\}/g, "$$steps.look.output");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.waitForURL(`**/plans/${id}`);
  await warnings.waitFor({ state: "detached" });
}, 600_000);

/** Creates a plan without the console and returns its id. */
async function plan(reply: Reply): Promise<string> {
  replies.push(reply);
  const answer = await serving.fetch("/api/plans", {
    ...{ method: "POST", body: JSON.stringify({ text: "make a plan" }) },
    headers: { "Content-Type": "application/json" },
  });
  return /wf_[\w-]+/.exec(await answer.text())?.[0] ?? "";
}

test("a plan is edited on the canvas and saved with the edited steps", async () => {
  const id = await plan(made("Drawn", { type: "manual" }));
  const page = await open(serving, `/plans/${id}`, { width: 1600, height: 900 });
  await page.getByRole("link", { name: "Edit", exact: true }).click();
  await page.locator('.react-flow__node[data-id="report"]').waitFor();
  await page.getByRole("button", { name: "Step", exact: true }).click();
  const added = page.locator('.react-flow__node[data-id="step-1"]');
  await added.waitFor();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page
    .getByRole("alert")
    .getByText(/step-1/)
    .first()
    .waitFor();
  await page.locator("#editor-form").getByLabel(/^Task/).fill("thank everybody");
  await added.getByText("thank everybody").waitFor();
  await page.reload();
  await added.getByText("thank everybody").waitFor();
  await added.click();
  expect(await violationsOf(page)).toEqual([]);
  await keepPicture(page, "plan-editor");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.waitForURL(`**/plans/${id}`);
  await part(page, "Steps").getByRole("figure").getByText("thank everybody").waitFor();
}, 600_000);

test("a long list of plans is shown in parts, and searched as a whole", async () => {
  const host = openLocalHost({ path: serving.path });
  const home = join(serving.path, "plans");
  const plans = openPlans({ host, home, env: {}, cwd: serving.folder });
  const [at, trigger] = ["2026-01-01T00:00:00.000Z", { type: "manual" as const }];
  for (let n = 1; n <= 120; n += 1) {
    await plans.create({
      ...{ schema_version: "1.0", id: `wf_many_${n}`, name: `Plan ${n}`, description: "d" },
      ...{ trigger, steps: [step("look")] },
      failure_policy: { on_step_failure: "stop", max_retries: 0, retry_delay_ms: 0 },
      ...{ phase: "awaiting_confirmation", created_at: at, updated_at: at },
    });
  }
  plans.close();
  const page = await open(serving, "/plans");
  const rows = page.getByRole("list", { name: "Plans" }).getByRole("listitem");
  await page.getByRole("button", { name: /^Show more \(/ }).waitFor();
  expect(await rows.count()).toBe(100);
  await page.getByRole("searchbox").fill("plan 11");
  await rows.nth(11).waitFor({ state: "detached" });
  expect(await rows.count()).toBe(11);
}, 600_000);

/** An answer that ends only when the client disconnects. */
const endless: Reply = { text: "Let me think. ".repeat(20), fault: { kind: "silence", after: 12 } };

test("a reload restores the conversation and the running turn, which is stopped", async () => {
  const page = await open(serving, "/plans/new");
  const log = page.getByRole("log", { name: "Conversation" });
  const hand = keyboard(page);
  replies.push({ tools: [{ name: "ask_question", input: { question: "Which ones?" } }] });
  await hand.write("What do you want done, and when?", "tell me which builds fail");
  await page.keyboard.press("Enter");
  await log.getByText("Which ones?").waitFor();
  await page.waitForURL(/\?session=ps_/);
  replies.push(endless);
  await hand.write("Your message", "mine");
  await page.keyboard.press("Enter");
  await page.getByText(/^Let me think/).waitFor();
  await page.reload();
  await log.getByText("tell me which builds fail").waitFor();
  await log.getByText("Which ones?").waitFor();
  await log.getByText("mine", { exact: true }).waitFor();
  await page.getByText(/^Let me think/).waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await keepPicture(page, "chat-at-work-light");
  await darken(page);
  expect(await violationsOf(page, "color-contrast")).toEqual([]);
  await keepPicture(page, "chat-at-work-dark");
  await hand.press("button", "Stop");
  await page
    .getByRole("status")
    .getByText(/^Stopped\./)
    .waitFor();
  await model.came.at(-1)?.closed;
  await page.locator("textarea:focus").waitFor();
  replies.push(made("Builds", { type: "manual" }));
  await page.keyboard.type("mine, and quickly");
  await page.keyboard.press("Enter");
  await page.getByRole("region", { name: "To be confirmed" }).waitFor();
  await page.reload();
  await page.getByRole("region", { name: "To be confirmed" }).waitFor();
  await log.getByText("mine, and quickly").waitFor();
}, 600_000);
