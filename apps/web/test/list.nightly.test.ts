import { beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ThreadRow } from "@uncaged/workflow-server/api-types";
import type { Locator, Page } from "playwright-core";
import { bundleOf } from "../../../packages/workflow/test/fixtures/bundles.ts";
import { open, useConsoleProcess } from "./browser.ts";
import { keyboard, mouse, pressUntil } from "./hand.ts";
import { violationsOf } from "./violations.ts";

const serving = useConsoleProcess();

/** Fails, asks a question or ends, depending on the prompt. */
const errand = bundleOf(`
  const [kind] = input.prompt.split(" ");
  yield step("reader", "read", { cost: kind === "dear" ? 2 : 0.01, usage: { input_tokens: 10 } });
  if (kind === "failing") throw new Error("orders.csv, line 751: no date");
  if (kind === "asking" && !input.steps.some(({ role }) => role === "__input__"))
    yield step("__wait__", "May I send it?", { for: "approval" });
`);

const prompts = ["failing import of orders", "asking for a yes", "dear answer", "plain answer"];
let ids: string[] = [];

async function runAll(): Promise<string[]> {
  const made: string[] = [];
  for (const prompt of prompts) {
    const body = { workflow: "errand", prompt };
    made.push((await serving.ok<{ threadId: string }>("/api/threads", body)).threadId);
  }
  const [failing = "", asking = "", ...others] = made;
  await serving.until(failing, "failed");
  await serving.until(asking, "waiting");
  for (const id of others) await serving.until(id, "completed");
  return made;
}

beforeAll(async () => {
  await serving.add("errand", errand);
  ids = await runAll();
}, 600_000);

const rowOf = (page: Page, subject: string): Locator =>
  page
    .getByRole("table")
    .getByRole("row")
    .filter({ has: page.getByRole("link", { name: subject }) });

const subjects = (page: Page) => page.getByRole("table").getByRole("link").allTextContents();

const listed = (page: Page, count: number) =>
  page.waitForFunction(
    (wanted) => document.querySelectorAll("[role=table] [data-index]").length === wanted,
    count,
  );

test("a row shows the subject, the place with its error or question, and the figures", async () => {
  const page = await open(serving);
  const failed = rowOf(page, "failing import of orders");
  await failed.getByText("orders.csv, line 751: no date").waitFor();
  await failed.getByText("failed", { exact: true }).waitFor();
  await rowOf(page, "asking for a yes").getByText("May I send it?").waitFor();
  await rowOf(page, "dear answer").getByText("$2.00").waitFor();
  expect(
    await page
      .getByRole("table")
      .getByText(ids[0] ?? "")
      .count(),
  ).toBe(0);
  await rowOf(page, "plain answer").hover();
  await rowOf(page, "plain answer").getByRole("button", { name: "Details" }).click();
  await rowOf(page, "plain answer")
    .getByText(ids[3] ?? "")
    .waitFor();
  expect(await violationsOf(page)).toEqual([]);
}, 600_000);

test.each([
  ["the mouse", mouse],
  ["the keyboard", keyboard],
])(
  "threads are filtered by %s, with a short address",
  async (_, handOf) => {
    const page = await open(serving);
    await listed(page, 4);
    const hand = handOf(page);
    await hand.press("button", "Status");
    await hand.press("menuitemcheckbox", "failed");
    await page.waitForURL(/\/\?status=failed$/);
    await listed(page, 1);
    expect(await violationsOf(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await hand.press("button", "Remove the filter Status");
    await listed(page, 4);
    await hand.press("button", "Cost");
    await hand.press("menuitemcheckbox", "At least $1.00");
    await page.waitForURL(/\/\?cost=1$/);
    await listed(page, 1);
    expect(await subjects(page)).toEqual(["dear answer"]);
    await hand.press("button", "Cost");
    await hand.press("menuitem", "Custom…");
    await hand.write("At least, in US dollars", "0.005");
    await hand.press("button", "Apply", page.getByRole("dialog"));
    await page.waitForURL(/\/\?cost=0.005$/);
    await listed(page, 4);
    await hand.press("button", "Since");
    await hand.press("menuitemcheckbox", "The last 24 hours");
    await page.waitForURL(/since=24h/);
    await hand.press("button", "Workflow");
    await hand.press("menuitemcheckbox", "errand");
    await hand.press("button", "Version");
    await page.getByRole("menuitemcheckbox").first().waitFor();
    await page.keyboard.press("Escape");
    await hand.press("button", "Has error");
    await listed(page, 1);
    await hand.press("button", "Clear");
    await page.waitForURL((url) => url.search === "");
    await listed(page, 4);
  },
  600_000,
);

test("the words of a search are marked", async () => {
  const page = await open(serving, "/?q=ORDERS");
  await listed(page, 1);
  const row = rowOf(page, "failing import of orders");
  expect(await row.locator("mark").allTextContents()).toEqual(["orders", "orders"]);
}, 600_000);

test("a view is saved with a name, survives a reload, and is deleted", async () => {
  const page = await open(serving, "/?status=failed");
  const views = page.getByRole("navigation", { name: "Views" });
  await page.getByRole("button", { name: "Save view" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("Failed today");
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await page.getByText("A view has this name.").waitFor();
  await page.getByRole("dialog").getByLabel("Name").fill("All failures");
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await views.getByRole("link", { name: "All", exact: true }).click();
  await listed(page, 4);
  await page.reload();
  await views.getByRole("link", { name: "All failures" }).click();
  await page.waitForURL(/\/\?status=failed$/);
  await listed(page, 1);
  await page.getByRole("button", { name: "Forget the view All failures" }).click();
  expect(await views.getByRole("link", { name: "All failures" }).count()).toBe(0);
  await views.locator("a:focus").waitFor();
  await views.getByRole("link", { name: "Waiting for me" }).click();
  await page.waitForURL(/\/\?status=waiting$/);
  await rowOf(page, "asking for a yes").waitFor();
}, 600_000);

test("a press on an hour lists its threads, and a second press lists all", async () => {
  const page = await open(serving);
  const hour = page.getByRole("slider", { name: /^Hour/ });
  await pressUntil(page, hour, "Tab");
  await page.keyboard.press("End");
  expect(await hour.getAttribute("aria-valuetext")).toMatch(/: \d+ runs?, \d+ failed, p50 /);
  await page.keyboard.press("Enter");
  await page.waitForURL(/since=.*until=/);
  await page.getByRole("button", { name: "Remove the filter Since" }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.search === "");
}, 600_000);

test("several threads are selected by keys and with Shift, compared, exported and retried", async () => {
  const page = await open(serving);
  await listed(page, 4);
  const focus = (subject: string) => page.locator("a:focus").getByText(subject).waitFor();
  await page.keyboard.press("j");
  await focus("plain answer");
  await page.keyboard.press("x");
  await page.getByText("1 thread", { exact: true }).waitFor();
  await page.keyboard.press("j");
  await focus("dear answer");
  await page.keyboard.press("j");
  await focus("asking for a yes");
  await page.keyboard.press("Shift+X");
  await page.getByText("3 threads", { exact: true }).waitFor();
  const bar = page.getByRole("toolbar", { name: "Selected threads" });
  expect(await violationsOf(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await bar.waitFor({ state: "detached" });

  await page.getByRole("checkbox", { name: "Select plain answer" }).click();
  await page.keyboard.press("Escape");
  await bar.waitFor({ state: "detached" });
  await page.getByRole("checkbox", { name: "Select plain answer" }).click();
  await page.getByRole("checkbox", { name: "Select dear answer" }).click({ modifiers: ["Shift"] });
  const compare = await bar.getByRole("link", { name: "Compare" }).getAttribute("href");
  expect(compare).toBe(`/threads/${ids[2]}/compare/${ids[3]}`);
  await bar.getByRole("button", { name: "Export" }).click();
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("dialog").getByRole("button", { name: "Export" }).click(),
  ]);
  const saved = join(serving.folder, "threads.jsonl");
  await file.saveAs(saved);
  const lines = readFileSync(saved, "utf8").trimEnd().split("\n");
  const exported = lines.map((text) => JSON.parse(text) as { threadId: string; steps: unknown[] });
  expect(exported.map(({ threadId }) => threadId)).toEqual([ids[3] ?? "", ids[2] ?? ""]);
  expect(exported[0]?.steps).toHaveLength(1);
  await page.getByText("2 threads exported.").waitFor();

  await page.getByRole("checkbox", { name: "Select failing import of orders" }).click();
  await page.getByRole("checkbox", { name: "Select asking for a yes" }).click();
  await bar.getByRole("button", { name: "Kill" }).click();
  const dialog = page.getByRole("dialog", { name: "Kill 2 threads?" });
  await dialog.getByRole("button", { name: "Kill", exact: true }).click();
  await dialog.getByText("1 of 2 threads killed, 1 failed").waitFor();
  const failed = dialog.getByRole("listitem").filter({ hasText: "failing import of orders" });
  await failed
    .getByText(/not running|ended|failed/i)
    .first()
    .waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.keyboard.press("Escape");
}, 600_000);

test("a server that stops during a retry fails each thread visibly, and a repeated retry starts each once", async () => {
  const made = await runAll();
  const page = await open(serving, "/?status=failed");
  await listed(page, 2);
  await page.getByRole("checkbox", { name: "Select all loaded threads" }).click();
  await page.getByRole("toolbar").getByRole("button", { name: "Retry" }).click();
  const dialog = page.getByRole("dialog", { name: "Retry 2 threads?" });
  // The server starts the threads, and its responses are lost.
  let lost = 0;
  await page.route("**/retry", async (route) => {
    await route.fetch();
    lost += 1;
    await route.abort("connectionreset");
  });
  await dialog.getByRole("button", { name: "Retry", exact: true }).click();
  await dialog.getByText("0 of 2 threads retried, 2 failed").waitFor();
  expect(lost).toBe(2);
  await page.unroute("**/retry");
  await dialog.getByRole("button", { name: "Retry the failed 2 threads again" }).click();
  await page.getByText("2 threads retried.").waitFor();
  const rows = await serving.ok<ThreadRow[]>("/api/threads?limit=100");
  expect(rows.filter(({ threadId }) => ![...ids, ...made].includes(threadId))).toHaveLength(2);
}, 600_000);

test("the density and the theme are chosen in a menu and survive a reload", async () => {
  const page = await open(serving);
  await rowOf(page, "dear answer").first().waitFor();
  const height = async () => (await rowOf(page, "dear answer").first().boundingBox())?.height ?? 0;
  const before = await height();
  await page.getByRole("button", { name: "Appearance and keys" }).click();
  await page.getByRole("menuitemcheckbox", { name: "Compact" }).click();
  await page.getByRole("menuitemcheckbox", { name: "Dark" }).click();
  expect(await violationsOf(page)).toEqual([]);
  await page.keyboard.press("Escape");
  expect(await height()).toBeLessThan(before);
  await page.reload();
  await rowOf(page, "dear answer").first().waitFor();
  expect(await height()).toBeLessThan(before);
  expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe("dark");
}, 600_000);
