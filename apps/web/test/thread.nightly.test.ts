import { expect, test } from "bun:test";
import type { Thread } from "@uncaged/workflow-server/api-types";
import type { Page } from "playwright-core";
import { bundleOf } from "../../../packages/workflow/test/fixtures/bundles.ts";
import {
  endLine,
  logOf,
  startLine,
  stepLine,
} from "../../../packages/workflow/test/fixtures/records.ts";
import { until } from "../../../packages/workflow/test/fixtures/until.ts";
import { linkOf, open, useConsoleProcess, rowOf } from "./browser.ts";
import { keyboard } from "./hand.ts";
import { stepRow } from "./trace.ts";

const serving = useConsoleProcess("asker", "endless");

const status = (page: Page, word: string) =>
  page.locator("main header, main").getByText(word, { exact: true }).first().waitFor();

test("a sleeping thread shows its wake-up time and no question, and continues after its worker was killed", async () => {
  await serving.add(
    "sleeper",
    bundleOf(`
      const meta = { for: "sleep", sleep: true, expiresAt: Date.now() + options.ms };
      if (!input.steps.some(({ role }) => role === "__input__")) yield step("__wait__", "sleeping", meta);
      yield step("reported", "slept well");
    `),
  );
  const long = await serving.run("sleeper", { ms: 3_600_000 });
  await serving.until(long, "waiting");
  const short = await serving.run("sleeper", { ms: 3_000 });
  const steps = async () => (await serving.ok<Thread>(`/api/threads/${short}`)).stepCount;
  await until(async () => (await steps()) > 0);
  await serving.killWorkers();
  const page = await open(serving);
  const row = rowOf(page, long);
  await row.getByText("sleeping", { exact: true }).waitFor();
  await row.getByText(/wakes in 5\d m/).waitFor();
  await linkOf(page, long).click();
  await page.getByRole("article", { name: "Details of Sleep" }).waitFor();
  await page
    .getByRole("timer")
    .getByText(/in 5\d m/)
    .waitFor();
  expect(await page.getByRole("button", { name: /^(Answer|Go to question)$/ }).count()).toBe(0);
  expect(await page.getByRole("article").getByRole("textbox").count()).toBe(0);
  await page.goto(`http://127.0.0.1:${serving.port}/threads/${short}`);
  await page.getByText("slept well").first().waitFor();
  await stepRow(page, 1, "Sleep").waitFor();
  await stepRow(page, 2, "Woken").waitFor();
  await status(page, "completed");
  await serving.ok(`/api/threads/${long}/kill`, { force: true });
}, 600_000);

test("a thread of 5,000 steps renders few rows at a time, in every tab", async () => {
  const { hash, threadId: id } = JSON.parse(startLine) as { hash: string; threadId: string };
  const steps = Array.from({ length: 5_000 }, (_, at) => stepLine(String(at)));
  serving.write(`root/logs/${hash}/${id}.data.jsonl`, String(logOf(startLine, ...steps, endLine)));
  const page = await open(serving, `/threads/${id}?step=5000`);
  await stepRow(page, 5_000, "count").waitFor();
  const elements = () => page.evaluate(() => document.querySelectorAll("*").length);
  expect(await elements()).toBeLessThan(2_000);
  await page.getByRole("treegrid", { name: "Trace" }).focus();
  await page.keyboard.press("Home");
  await stepRow(page, 1, "count").waitFor();
  for (let presses = 0; presses < 20; presses += 1) await page.keyboard.press("ArrowDown");
  await stepRow(page, 21, "count").and(page.locator("[aria-selected=true]")).waitFor();
  await page.getByLabel("Search the trace").fill("count");
  for (const name of ["Graph", "State", "Events", "Trace"]) {
    await page.getByRole("tab", { name }).click();
    await page.getByRole("tabpanel", { name }).locator("button, li").first().waitFor();
    expect(await elements()).toBeLessThan(2_000);
  }
}, 600_000);

/** Twenty agents that write and call tools until the file \`go\` exists. */
const swarm = `
import { existsSync } from "node:fs";
import { channel } from "node:diagnostics_channel";
import { durable } from "@uncaged/workflow";
export const descriptor = { description: "a test", roles: {} };
const agent = async (go) => {
  const say = (type, payload) => channel("uncaged.workflow").publish({ type, stepID: "agent", payload });
  const usage = { input_tokens: 10, output_tokens: 5 };
  for (let n = 0; !existsSync(go); n += 1) {
    say("llm_token", { delta: "word" + n + " " });
    if (n % 40 === 39) {
      say("llm_tool_use", { tool_use_id: "t" + n, name: "look", input: { n } });
      say("llm_tool_result", { tool_use_id: "t" + n, content: "seen" });
      say("llm_usage", { call_id: "c" + n, model: "m", usage, cost_usd: 0.01, state: "whole" });
    }
    await new Promise((done) => setTimeout(done, 20));
  }
  return "done";
};
export const run = durable(async function* (step, { params }) {
  yield* step.all(Array.from({ length: 20 }, () => step("agent", () => agent(params.go))));
  return "done";
});
`;

test("twenty agents stream at once with few elements, and their tokens and cost grow", async () => {
  await serving.add("swarm", swarm, "swarm.ts");
  const go = `${serving.folder}/go`;
  const body = { workflow: "swarm", params: { go } };
  const { threadId } = await serving.ok<{ threadId: string }>("/api/threads", body);
  const page = await open(serving, `/threads/${threadId}`);
  const cost = page.locator("header dl > div", { hasText: "cost" }).locator("dd");
  await cost.getByText(/^\$[1-9]/).waitFor();
  const before = await cost.textContent();
  await page.waitForFunction(
    (text) => !document.querySelector("main header")?.textContent.includes(text ?? ""),
    before,
  );
  expect(await page.evaluate(() => document.querySelectorAll("*").length)).toBeLessThan(2_000);
  serving.write("go", "");
  await status(page, "completed");
}, 600_000);

test("a running thread is paused, resumed, killed and deleted by keyboard alone", async () => {
  const id = await serving.run("endless", { delayMs: 200 });
  const page = await open(serving, `/threads/${id}?step=1`);
  const hand = keyboard(page);
  // The step of the address stays in view until the user follows the newest step.
  await hand.press("button", "Follow");
  await hand.press("button", "Pause");
  await status(page, "paused");
  await hand.press("button", "Resume");
  await status(page, "running");
  await hand.press("button", "Kill");
  await hand.press("button", "Kill", page.getByRole("dialog"));
  await status(page, "killed");
  await hand.press("button", "More actions");
  await hand.press("menuitem", "Delete…");
  await hand.press("button", "Delete", page.getByRole("dialog"));
  await page.getByRole("heading", { name: "Threads" }).waitFor();
  expect((await serving.fetch(`/api/threads/${id}`)).status).toBe(404);
}, 600_000);

test("all threads are paused by a menu item, and killed by another once its question is answered", async () => {
  const ids = [await serving.run("endless", { delayMs: 50 }), await serving.run("endless")];
  const asking = await serving.run("asker");
  await serving.until(asking, "waiting");
  for (const id of ids) await serving.until(id, "running");
  const page = await open(serving);
  const row = (id: string) => rowOf(page, id);
  const hand = keyboard(page);
  const pressInMenu = async (item: string) => {
    await hand.press("button", "More");
    await hand.press("menuitem", item);
  };
  await pressInMenu("Pause all");
  for (const id of ids) await row(id).getByText("paused", { exact: true }).waitFor();
  const dialog = page.getByRole("dialog", { name: "Kill all threads?" });
  await pressInMenu("Kill all…");
  await dialog.getByText(/All running, sleeping, waiting and paused threads end now/).waitFor();
  await hand.press("button", "Cancel", dialog);
  await dialog.waitFor({ state: "detached" });
  for (const id of ids) await serving.until(id, "paused");
  await serving.until(asking, "waiting");
  await pressInMenu("Kill all…");
  await hand.press("button", "Kill all", dialog);
  for (const id of [...ids, asking]) {
    await row(id).getByText("killed", { exact: true }).waitFor();
    await serving.until(id, "killed");
  }
}, 600_000);

test("interrupted threads are named on the first page, and resumed from there", async () => {
  const id = await serving.run("endless", { delayMs: 50 });
  await serving.until(id, "running", 1);
  await serving.killWorkers();
  const page = await open(serving);
  const line = page.getByText(/^1 thread interrupted within the last day/);
  await line.waitFor();
  await page.getByText("serve --resume", { exact: true }).waitFor();
  await keyboard(page).press("button", "Resume");
  await serving.until(id, "running");
  await line.waitFor({ state: "detached" });
  await serving.ok(`/api/threads/${id}/kill`, { force: true });
}, 600_000);

test.each([1280, 380])(
  "a question opened before the thread's log has arrived is shown when it arrives, at %d pixels",
  async (width) => {
    const id = await serving.run("asker");
    await serving.until(id, "waiting");
    const page = await open(serving, "/", { width });
    // Playwright can't hold requests of a shared worker.
    await page.addInitScript(() => Reflect.deleteProperty(globalThis, "SharedWorker"));
    const held = Promise.withResolvers<void>();
    await page.route(/\/events(\?|$)/, async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.goto(`http://127.0.0.1:${serving.port}/threads/${id}?view=events`);
    await page.getByRole("button", { name: "Go to question" }).click();
    await page.waitForURL((url) => !url.searchParams.has("view"));
    held.resolve();
    await page.getByLabel("Your answer").and(page.locator(":focus")).waitFor();
    await page.unrouteAll({ behavior: "ignoreErrors" });
  },
  600_000,
);
