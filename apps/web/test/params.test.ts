import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { Serving, stopServing } from "../../server/test/serving.ts";
import { closePages, open, useBrowser } from "./browser.ts";
import { buildConsole } from "./built.ts";

const workflow = join(import.meta.dir, "../../../examples/review-repository/workflow.ts");

let serving: Serving;

useBrowser();
beforeAll(async () => {
  await buildConsole();
  serving = await Serving.start();
  const adding = serving.spawn("add", "review", workflow);
  expect(await adding.exited).toBe(0);
}, 120_000);
afterAll(stopServing, 60_000);
afterEach(async () => {
  expect(await closePages()).toEqual([]);
});

const idOf = (page: Page): string => new URL(page.url()).pathname.split("/").at(-1) ?? "";

test("params of a workflow that declares no input are given as JSON, and shown beside its thread", async () => {
  const page = await open(serving, "/?start=review");
  const dialog = page.getByRole("dialog");
  const params = dialog.getByLabel("Params (optional)");
  await params.fill('{"files":');
  await dialog.getByRole("button", { name: "Start" }).click();
  await dialog.getByText(/It is no JSON/).waitFor();
  await params.fill('{"files":4}');
  await dialog.getByRole("button", { name: "Start" }).click();
  const about = page.getByRole("complementary", { name: "About the thread" });
  await about.getByRole("heading", { name: "Params" }).waitFor();
  expect(await about.getByRole("definition").first().textContent()).toBe("4");
  const thread = await serving.ok<{ params?: unknown }>(`/api/threads/${idOf(page)}`);
  expect(thread.params).toEqual({ files: 4 });
}, 60_000);
