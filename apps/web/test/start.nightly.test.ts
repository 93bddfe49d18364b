import { beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { bundleOf } from "../../../packages/workflow/test/fixtures/bundles.ts";
import { open, useConsole } from "./browser.ts";
import { stepRow } from "./trace.ts";

const odd = {
  type: "object",
  required: ["toString"],
  properties: { constructor: { type: "string" }, toString: { type: "integer" } },
};
const oddForm = bundleOf('yield step("reported", String(options.toString));').replace(
  "roles: {}",
  `roles: {}, input: ${JSON.stringify(odd)}`,
);

const serving = useConsole("counter");

beforeAll(async () => {
  await serving.add("odd", oddForm);
}, 600_000);

const idOf = (page: Page): string => new URL(page.url()).pathname.split("/").at(-1) ?? "";

const hasFocus = (page: Page, name: string): Promise<unknown> =>
  page.waitForFunction((text) => document.activeElement?.textContent === text, name);

test("a form with fields of any name focuses a missing value, and a double click starts one thread", async () => {
  const page = await open(serving, "/?start=odd");
  const field = page.getByLabel("toString", { exact: true });
  await field.waitFor();
  const start = page.getByRole("dialog").getByRole("button", { name: "Start" });
  await start.click();
  await page.getByText("This must be filled in.").waitFor();
  expect(await field.evaluate((input) => input === document.activeElement)).toBe(true);
  await field.fill("7");
  await start.dblclick();
  await stepRow(page, 1, "reported").waitFor();
  const threads = await serving.ok<unknown[]>("/api/threads?workflow=odd");
  expect(threads).toHaveLength(1);
}, 600_000);

test("params of a workflow without a declared input are given as JSON, and shown beside its thread", async () => {
  const page = await open(serving, "/?start=counter");
  const dialog = page.getByRole("dialog");
  const params = dialog.getByLabel("Params (optional)");
  await params.fill('{"files":');
  await dialog.getByRole("button", { name: "Start" }).click();
  await dialog.getByText(/Invalid JSON/).waitFor();
  await params.fill('{"files":4}');
  await dialog.getByRole("button", { name: "Start" }).click();
  await page.getByRole("button", { name: "Details" }).click();
  const about = page.getByRole("region", { name: "Details" });
  await about.getByRole("heading", { name: "Params" }).waitFor();
  await about.getByText("files").waitFor();
  await about.getByText("4", { exact: true }).waitFor();
  const thread = await serving.ok<{ params?: unknown }>(`/api/threads/${idOf(page)}`);
  expect(thread.params).toEqual({ files: 4 });
}, 600_000);

test("a failed start and a click outside the dialog keep the typed values and the focus", async () => {
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
