import { afterAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { anthropicServer } from "../../../packages/workflow-agents/test/anthropic-server.ts";
import type { Reply } from "../../../packages/workflow-agents/test/wire.ts";
import { keepPicture, open, useConsole } from "./browser.ts";
import { keyboard } from "./hand.ts";
import { darken, violationsOf } from "./violations.ts";

/* A conversation with the planner that its page does not lose. */

const replies: Reply[] = [];
const model = await anthropicServer(() => replies.shift() ?? { text: "?" });
afterAll(async () => await model.stop(), 60_000);

const serving = useConsole();
serving.more = {
  ...serving.more,
  ANTHROPIC_API_KEY: model.key,
  ANTHROPIC_BASE_URL: model.url,
  UNCAGED_PLAN_SANDBOX_MODE: "off",
};

/** An answer that ends only when nobody waits for it any more. */
const endless: Reply = { text: "Let me think. ".repeat(20), fault: { kind: "silence", after: 12 } };
const question: Reply = { tools: [{ name: "ask_question", input: { question: "Which ones?" } }] };
const step = { id: "look", description: "do look", agent: "claude", inputs: {}, depends_on: [] };
const made = (name: string): Reply => ({
  tools: [
    {
      name: "create_workflow",
      input: {
        ...{ name, description: "which fail?", trigger: { type: "manual" }, steps: [step] },
        failure_policy: { on_step_failure: "stop" },
      },
    },
  ],
});

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
const log = (page: Page) => page.getByRole("log", { name: "Conversation" });
const isStopped = (page: Page) =>
  page
    .getByRole("status")
    .getByText(/^Stopped\./)
    .waitFor();

test("a reload shows the conversation again and the turn that goes on, which is stopped", async () => {
  const page = await open(serving, "/plans/new");
  const hand = keyboard(page);
  replies.push(question);
  await hand.write("What do you want done, and when?", "tell me which builds fail");
  await page.keyboard.press("Enter");
  await log(page).getByText("Which ones?").waitFor();
  await page.waitForURL(/\?session=ps_/);
  replies.push(endless);
  await hand.write("Your message", "mine");
  await page.keyboard.press("Enter");
  await page.getByText(/^Let me think/).waitFor();
  await page.reload();
  await log(page).getByText("tell me which builds fail").waitFor();
  await log(page).getByText("Which ones?").waitFor();
  await log(page).getByText("mine", { exact: true }).waitFor();
  await page.getByText(/^Let me think/).waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await keepPicture(page, "chat-at-work-light");
  await darken(page);
  expect(await violationsOf(page, "color-contrast")).toEqual([]);
  await keepPicture(page, "chat-at-work-dark");
  await hand.press("button", "Stop");
  await isStopped(page);
  await model.came.at(-1)?.closed;
  await page.locator("textarea:focus").waitFor();
  replies.push(made("Builds"));
  await page.keyboard.type("mine, and quickly");
  await page.keyboard.press("Enter");
  await page.getByRole("region", { name: "To be confirmed" }).waitFor();
  await page.reload();
  await page.getByRole("region", { name: "To be confirmed" }).waitFor();
  await log(page).getByText("mine, and quickly").waitFor();
}, 600_000);

test("the first turn is stopped, and what follows is the same conversation, on a phone", async () => {
  const page = await open(serving, "/plans/new", { width: 380, height: 760 });
  replies.push(endless);
  await page.getByLabel("What do you want done, and when?").fill("watch my builds");
  await button(page, "Plan it").click();
  await page.getByText(/^Let me think/).waitFor();
  const tooWide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect([await violationsOf(page), tooWide]).toEqual([[], 0]);
  await keepPicture(page, "chat-at-work-phone");
  await button(page, "Stop").click();
  await isStopped(page);
  replies.push(question);
  await page.getByLabel("Your message").fill("all of them");
  await button(page, "Send").click();
  await log(page).getByText("Which ones?").waitFor();
  expect(
    await log(page)
      .getByText(/^(watch my builds|all of them)$/)
      .count(),
  ).toBe(2);
}, 600_000);

test("a turn that was lost with the server is shown as interrupted, and a plan's page keeps its conversation", async () => {
  const page = await open(serving, "/plans/new");
  replies.push(made("Kept"));
  await page.getByLabel("What do you want done, and when?").fill("keep it");
  await button(page, "Plan it").click();
  await page.getByRole("link", { name: "Kept" }).click();
  await page.waitForURL("**/plans/wf_*");
  replies.push(endless);
  await page.getByLabel("What is to be different?").fill("make it blue");
  await button(page, "Change it").click();
  await page.getByText(/^Let me think/).waitFor();
  await page.waitForURL(/\?session=ps_/);
  const { port } = serving;
  await serving.stop("SIGKILL");
  await page.getByText(/server was lost/i).waitFor();
  await serving.serve(port);
  await page.reload();
  await page.getByText(/The planner was interrupted/).waitFor();
  await log(page).getByText("keep it").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await keepPicture(page, "chat-interrupted");
  replies.push(made("Blue"));
  await page.getByLabel("Your message").fill("make it blue, please");
  await button(page, "Send").click();
  await page.getByRole("heading", { level: 1, name: /Blue/ }).waitFor();
  await page.getByText(/The planner was interrupted/).waitFor({ state: "detached" });
}, 600_000);
