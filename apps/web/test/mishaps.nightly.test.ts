import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { closePages, open, useConsole } from "./browser.ts";
import { until } from "../../../packages/workflow/test/fixtures/until.ts";

const serving = useConsole("counter", "endless");

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
}, 600_000);

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
}, 600_000);

test("going back leaves a dialog, and the status of the thread is announced", async () => {
  const id = await serving.run("counter");
  const page = await open(serving, `/threads/${id}?view=graph`);
  await page.getByRole("tab", { name: "Steps" }).click();
  await page.getByRole("button", { name: "Fork from here, after step 2" }).click();
  await page.getByRole("dialog").waitFor();
  await page.goBack();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByRole("status").filter({ hasText: "The thread is completed." }).waitFor();
}, 600_000);

test("a thread that somebody deletes is reported as deleted", async () => {
  const id = await serving.run("counter");
  await serving.until(id, "completed");
  const page = await open(serving, `/threads/${id}`);
  await page.getByRole("article", { name: "Step 3: count" }).waitFor();
  await page.getByRole("button", { name: "More to do" }).click();
  await serving.ok(`/api/threads/${id}`, undefined, "DELETE");
  // What was read in the last two seconds is not read again.
  await until(async () => {
    await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    return await page.getByText("This thread was deleted").isVisible();
  });
  await page.getByRole("link", { name: "To the threads", exact: true }).click();
  await page.getByRole("table", { name: "Threads" }).waitFor();
}, 600_000);

test("a page without its token shows what to do, not that there is no server", async () => {
  const page = await open(serving);
  await page.getByRole("button", { name: "Start" }).waitFor();
  await page.context().clearCookies();
  await page.getByRole("link", { name: "Workflows" }).click();
  await page.getByText(/Open the URL that uncaged-workflow serve has printed/).waitFor();
  // The browser's own messages about the refusals are no errors of the page.
  await closePages();
}, 600_000);

test("a page of another site uses the API with the token once its origin is allowed, and not before", async () => {
  const id = await serving.run("counter");
  await serving.until(id, "completed");
  const other = Bun.serve({
    port: 0,
    hostname: "localhost",
    fetch: () => new Response("<p>mine", { headers: { "Content-Type": "text/html" } }),
  });
  const origin = `http://localhost:${other.port}`;
  try {
    const page = await open(serving);
    await page.goto(origin);
    const url = `http://127.0.0.1:${serving.port}`;
    const ask = (path: string, token: string, body?: string) =>
      page.evaluate(
        async ([address, bearer, sent]) => {
          const json = { "Content-Type": "application/json" };
          const headers = { Authorization: `Bearer ${bearer}`, ...(sent && json) };
          const init = { headers, ...(sent && { method: "POST", body: sent }) };
          const response = await fetch(address, init).catch(() => null);
          return response === null ? "refused" : `${response.status} ${await response.text()}`;
        },
        [url + path, token, body] as const,
      );
    expect(await ask(`/api/threads/${id}`, serving.token)).toBe("refused");
    const { port } = serving;
    await serving.stop();
    serving.flags.push("--allow-origin", origin);
    await serving.serve(port);
    expect(await ask(`/api/threads/${id}`, serving.token)).toMatch(/^200 /);
    expect(await ask(`/api/threads/${id}/events`, serving.token)).toMatch(/^200 [^]*event: end/);
    expect(await ask("/api/threads", serving.token, '{"workflow":"counter"}')).toMatch(/^201 /);
    expect(await ask(`/api/threads/${id}`, "x")).toMatch(/^401 /);
  } finally {
    await other.stop(true);
  }
}, 600_000);

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
}, 600_000);
