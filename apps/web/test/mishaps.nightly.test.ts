import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { closePages, open, useConsole } from "./browser.ts";
import { detailsOf, stepRow } from "./trace.ts";

const serving = useConsole("counter", "endless");

const hasFocus = (page: Page, name: string): Promise<unknown> =>
  page.waitForFunction((text) => document.activeElement?.textContent === text, name);

test("the focus stays where a button disappeared, and a failure is not shown twice", async () => {
  const page = await open(serving, `/threads/${await serving.run("endless", { delayMs: 100 })}`);
  await page.getByRole("button", { name: "Pause" }).press("Enter");
  await hasFocus(page, "Resume");
  await page.route("**/kill", (route) => route.abort("connectionrefused"));
  const kill = page.getByRole("button", { name: "Kill" });
  await kill.press("Enter");
  await page.getByRole("dialog").getByRole("button", { name: "Kill" }).press("Enter");
  await page.getByText("The server can't be reached").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await hasFocus(page, "Kill");
  await page.unroute("**/kill");
  await kill.press("Enter");
  const again = page.getByRole("dialog").getByRole("button", { name: "Kill" });
  await again.waitFor();
  expect(await page.getByRole("alert").count()).toBe(0);
  await again.press("Enter");
  await page.getByRole("button", { name: "Retry" }).waitFor();
  await page.waitForFunction(() => document.activeElement !== document.body);
}, 600_000);

test("the focus stays in the details of the newest step while they follow a running thread", async () => {
  const id = await serving.run("endless", { delayMs: 500 });
  const page = await open(serving, `/threads/${id}`);
  const details = page.getByRole("article", { name: /^Details of/ });
  const copy = details.getByRole("button", { name: "Copy the id" });
  await copy.focus();
  const step = (await details.getByText(/^Step \d+$/).textContent()) ?? "";
  await details.getByText(step, { exact: true }).waitFor({ state: "detached" });
  expect(await copy.evaluate((button) => button === document.activeElement)).toBe(true);
  await serving.ok(`/api/threads/${id}/kill`, { force: true });
}, 600_000);

test("going back closes a dialog, and the status of the thread is announced", async () => {
  const id = await serving.run("counter");
  const page = await open(serving, `/threads/${id}?view=graph`);
  await page.getByRole("tab", { name: "Trace" }).click();
  const step = await detailsOf(page, 2, "count");
  await step.getByRole("button", { name: "Fork from here" }).click();
  await page.getByRole("dialog").waitFor();
  await page.goBack();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByRole("status").filter({ hasText: "The thread is completed." }).waitFor();
}, 600_000);

test("a thread deleted by another client is reported as deleted", async () => {
  const id = await serving.run("counter");
  await serving.until(id, "completed");
  const page = await open(serving, `/threads/${id}`);
  await stepRow(page, 3, "count").waitFor();
  await page.getByRole("button", { name: "More actions" }).click();
  await serving.ok(`/api/threads/${id}`, undefined, "DELETE");
  await page.getByText("This thread was deleted").waitFor();
  await page.getByRole("link", { name: "To the threads", exact: true }).click();
  await page.getByRole("heading", { name: "Threads" }).waitFor();
}, 600_000);

test("a page without its token shows a way out, not a lost server", async () => {
  const page = await open(serving);
  await page.getByRole("button", { name: "Start" }).waitFor();
  await page.context().clearCookies();
  await page.getByRole("link", { name: "Workflows" }).click();
  await page.getByText(/Open the URL that uncaged-workflow serve has printed/).waitFor();
  // Ignore the browser's messages about refused requests, which are not errors of the page.
  await closePages();
}, 600_000);
