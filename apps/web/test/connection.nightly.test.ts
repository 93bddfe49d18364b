import { expect, test } from "bun:test";
import type { Page, Request } from "playwright-core";
import { until } from "../../../packages/workflow/test/fixtures/until.ts";
import { open, useConsoleProcess } from "./browser.ts";
import { stepRow } from "./trace.ts";

const serving = useConsoleProcess("counter");

const lost = /The server is unreachable/;
const back = /Connected again/;

test("a notice reports a killed server, and no event is missed when it is back", async () => {
  const id = await serving.run("counter", { count: 60, delayMs: 100 });
  const page = await open(serving, `/threads/${id}`);
  await page
    .getByRole("row", { name: /\d count/ })
    .first()
    .waitFor();
  const { port } = serving;
  await serving.stop("SIGKILL");
  await page.getByText(lost).waitFor();
  const again = page.getByText(back).waitFor();
  await serving.serve(port);
  await again;
  await serving.until(id, "completed", 60);
  await page.getByText("completed", { exact: true }).first().waitFor();
  await stepRow(page, 60, "count").waitFor();
  await page.getByText("60", { exact: true }).first().waitFor();
  await page.getByText(back).waitFor({ state: "detached" });
}, 600_000);

test("a page that can't be loaded without a server shows the command that starts it", async () => {
  const page = await open(serving);
  await page.getByRole("table", { name: "Threads" }).waitFor();
  const { port } = serving;
  await serving.stop();
  await page.getByRole("link", { name: "Workflows" }).click();
  await page.getByText(/Start the server again: uncaged-workflow serve/).waitFor();
  await serving.serve(port);
  await page.getByRole("link", { name: "counter", exact: true }).waitFor();
}, 600_000);

test("errors of an unreachable server disappear when it is back, and the notice covers no button", async () => {
  const id = await serving.run("counter", { count: 1_000, delayMs: 50 });
  await serving.until(id, "running", 10);
  await serving.ok(`/api/threads/${id}/pause`, {});
  await serving.until(id, "paused");
  const page = await open(serving, `/threads/${id}`, { height: 500 });
  await stepRow(page, 8, "count").waitFor();
  await page.mouse.wheel(0, 600);
  const { port } = serving;
  await serving.stop("SIGKILL");
  const resume = page.getByRole("button", { name: "Resume" });
  await page.getByText(lost).waitFor();
  await resume.click();
  await page.getByText("The server can't be reached").first().waitFor();
  const again = page.getByText(back).waitFor();
  await serving.serve(port);
  await again;
  await page.getByRole("alert").first().waitFor({ state: "detached" });
  await resume.click();
  await page.getByRole("button", { name: "Pause" }).waitFor();
  await serving.ok(`/api/threads/${id}/kill`, { force: true });
}, 600_000);

test("nine tabs on live threads are all live, and the browser has free connections", async () => {
  const ids = await Promise.all(
    Array.from({ length: 9 }, () => serving.run("counter", { count: 100_000, delayMs: 500 })),
  );
  const first = await open(serving, `/threads/${ids[0]}`);
  const pages = [first];
  for (const id of ids.slice(1)) {
    const page = await first.context().newPage();
    await page.goto(`http://127.0.0.1:${serving.port}/threads/${id}`);
    pages.push(page);
  }
  const steps = await Promise.all(
    ids.map(async (id) => (await serving.until(id, "running", 5)).stepCount),
  );
  for (const [index, page] of pages.entries()) {
    await page.bringToFront();
    await page.waitForFunction(
      (least) => Number(document.querySelector("[role=treegrid]")?.ariaRowCount) > least,
      steps[index] ?? 0,
    );
  }
  await first.bringToFront();
  await first.getByRole("button", { name: "Pause" }).click();
  await first.getByRole("button", { name: "Resume" }).waitFor();
  for (const id of ids) await serving.ok(`/api/threads/${id}/kill`, { force: true });
}, 600_000);

/** Hides or shows a page like a browser tab. Headless browsers show all pages. */
const setHidden = (page: Page, hidden: boolean) =>
  page.evaluate((value) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => value });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);

test("without a shared worker a hidden tab has no stream, so the ninth tab is live too", async () => {
  const ids = await Promise.all(
    Array.from({ length: 9 }, () => serving.run("counter", { count: 100_000, delayMs: 500 })),
  );
  const streams = new Map<Page, number>();
  const first = await open(serving);
  const pages: Page[] = [];
  for (const id of ids) {
    const page = await first.context().newPage();
    await page.addInitScript(() => Reflect.deleteProperty(globalThis, "SharedWorker"));
    const isStream = (request: Request) => new URL(request.url()).pathname === "/api/events";
    const count = (request: Request, by: number) =>
      isStream(request) && streams.set(page, (streams.get(page) ?? 0) + by);
    page.on("request", (request) => count(request, 1));
    for (const name of ["requestfailed", "requestfinished"] as const)
      page.on(name as "requestfailed", (request) => count(request, -1));
    await page.goto(`http://127.0.0.1:${serving.port}/threads/${id}`);
    await page
      .getByRole("row", { name: /\d count/ })
      .first()
      .waitFor();
    await until(() => streams.get(page) === 1);
    await setHidden(page, true);
    await until(() => streams.get(page) === 0);
    pages.push(page);
  }
  for (const [index, page] of pages.entries()) {
    const { stepCount } = await serving.until(ids[index] ?? "", "running");
    await setHidden(page, false);
    await page.waitForFunction(
      (least) => Number(document.querySelector("[role=treegrid]")?.ariaRowCount) > least,
      stepCount,
    );
    expect([...streams.values()].reduce((sum, count) => sum + count)).toBe(1);
    await setHidden(page, true);
    await until(() => streams.get(page) === 0);
  }
  for (const id of ids) await serving.ok(`/api/threads/${id}/kill`, { force: true });
}, 600_000);
