import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { Serving, stopServing } from "../../server/test/serving.ts";
import { closePages, open, useBrowser } from "./browser.ts";
import { buildConsole } from "./built.ts";

let serving: Serving;

useBrowser();
beforeAll(async () => {
  await buildConsole();
  serving = await Serving.start("counter", "endless");
}, 120_000);
afterAll(stopServing, 60_000);
afterEach(async () => {
  expect(await closePages()).toEqual([]);
});

const hasFocus = (page: Page, name: string): Promise<unknown> =>
  page.waitForFunction((text) => document.activeElement?.textContent === text, name);

test("a start that fails keeps what was typed, and the focus; so does a click beside the dialog", async () => {
  const page = await open(serving);
  await page.getByRole("button", { name: "Start" }).press("Enter");
  const prompt = page.getByLabel("Prompt");
  await prompt.fill("count");
  await page.route("**/api/threads", (route) => route.abort("connectionrefused"));
  await page.getByRole("dialog").getByRole("button", { name: "Start" }).press("Enter");
  await page.getByText("The server can't be reached").waitFor();
  await hasFocus(page, "Start");
  await page.mouse.click(5, 400);
  expect(await prompt.inputValue()).toBe("count");
  await page.keyboard.press("Escape");
  await prompt.waitFor({ state: "detached" });
  await hasFocus(page, "Start");
}, 30_000);

test("the focus stays where a button went away, and a failure is not shown a second time", async () => {
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
}, 30_000);

test("going back leaves a dialog, and the status of the thread is announced", async () => {
  const id = await serving.run("counter");
  const page = await open(serving, `/threads/${id}?view=graph`);
  await page.getByRole("tab", { name: "Steps" }).click();
  await page.getByRole("button", { name: "Fork from here, after step 2" }).click();
  await page.getByRole("dialog").waitFor();
  await page.goBack();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByRole("status").filter({ hasText: "The thread is completed." }).waitFor();
}, 30_000);

test("a thread that somebody deletes is reported as deleted", async () => {
  const id = await serving.run("counter");
  await serving.until(id, "completed");
  const page = await open(serving, `/threads/${id}`);
  await page.getByRole("article", { name: "Step 3: count" }).waitFor();
  await serving.ok(`/api/threads/${id}`, undefined, "DELETE");
  await page.getByRole("button", { name: "More to do" }).click();
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await page.getByText("This thread was deleted").waitFor();
  await page.getByRole("link", { name: "To the threads", exact: true }).click();
  await page.getByRole("table", { name: "Threads" }).waitFor();
}, 30_000);

test("a page without its token shows what to do, not that there is no server", async () => {
  const page = await open(serving);
  await page.getByRole("button", { name: "Start" }).waitFor();
  await page.context().clearCookies();
  await page.getByRole("link", { name: "Workflows" }).click();
  await page.getByText(/Open the URL that uncaged-workflow serve has printed/).waitFor();
  // The browser's own messages about the refusals are no errors of the page.
  await closePages();
}, 30_000);

test("a link of another site opens the page that it names", async () => {
  const id = await serving.run("counter");
  const address = `http://127.0.0.1:${serving.port}/threads/${id}`;
  const body = `<a href="${address}">the thread</a>`;
  const other = Bun.serve({
    port: 0,
    hostname: "localhost",
    fetch: () => new Response(body, { headers: { "Content-Type": "text/html" } }),
  });
  try {
    const page = await open(serving);
    await page.goto(`http://localhost:${other.port}/`);
    await page.getByRole("link", { name: "the thread" }).click();
    await page.getByRole("article", { name: "Step 3: count" }).waitFor();
  } finally {
    await other.stop(true);
  }
}, 30_000);
