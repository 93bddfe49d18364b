import { beforeAll, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { bundleOf } from "../../../packages/workflow/test/fixtures/bundles.ts";
import { open, useConsoleProcess } from "./browser.ts";
import { detailsOf } from "./trace.ts";
import { violationsOf } from "./violations.ts";

const serving = useConsoleProcess();

beforeAll(async () => {
  await serving.add("reader", reader);
  await serving.add("large", large);
}, 600_000);

/** A model with an input of 60 KB and a tool output of 30 KB. Neither is in the step, only in the events. */
const reader = `import { channel } from "node:diagnostics_channel";
${bundleOf(`
  const publish = (type, payload) => channel("uncaged.workflow").publish({ type, stepID: "read", payload });
  const resolvedInputs = { page: "a ".repeat(30_000) + "last word of the page" };
  publish("step_start", { type: "Role", meta: { title: "Read" }, resolvedInputs });
  const content = { file: "b ".repeat(15_000) + "last word of the file" };
  publish("llm_tool_use", { tool_use_id: "1", name: "read_file", input: { path: "a.txt" } });
  publish("llm_tool_result", { tool_use_id: "1", content, is_error: false });
  yield step("read", "done");
`)}`;

const last = { page: "last word of the page", file: "last word of the file" };

test("an input of 60 KB and a tool's output of 30 KB open in full", async () => {
  const id = await serving.run("reader");
  await serving.until(id, "completed");
  const page = await open(serving, `/threads/${id}`);
  await detailsOf(page, 1, "read");
  expect(await page.getByText(last.page).count()).toBe(0);
  await page.getByRole("treeitem", { name: /^page/ }).click();
  await page.getByText(last.page).waitFor();
  await page.getByRole("row", { name: /read_file/ }).click();
  await page.getByRole("treeitem", { name: /^file/ }).click();
  await page.getByText(last.file).waitFor();
}, 600_000);

test("a lost value is reported as lost, and a failed request can be repeated", async () => {
  const id = await serving.run("reader");
  const { hash } = await serving.until(id, "completed");
  const page = await open(serving, `/threads/${id}`);
  await detailsOf(page, 1, "read");
  await page.route("**/values/*", (route) => route.abort());
  await page.getByRole("treeitem", { name: /^page/ }).click();
  await page.getByText("The server can't be reached").waitFor();
  await page.unroute("**/values/*");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText(last.page).waitFor();
  rmSync(join(serving.path, "logs", hash, `${id}.values.jsonl`));
  await page.getByRole("row", { name: /read_file/ }).click();
  await page.getByText("The log keeps only this part.").waitFor();
}, 600_000);

/** Large step values: a table, an object with many fields, JSON text, and plain text. */
const large = `import { channel } from "node:diagnostics_channel";
${bundleOf(`
  const rows = Array.from({ length: 30_000 }, (_, n) => ({ n, name: "row " + n, ok: n % 2 === 0 }));
  const fields = Object.fromEntries(rows.map(({ n, name }) => ["field" + n, name]));
  yield step("table", "a table", { rows });
  yield step("fields", "fields", fields);
  yield step("text", "a line of a long text\\n".repeat(100_000));
  const publish = (type, payload) => channel("uncaged.workflow").publish({ type, stepID: "read", payload });
  const content = { orders: Array.from({ length: 8 }, () => rows) };
  publish("llm_tool_use", { tool_use_id: "1", name: "read_orders", input: { all: true } });
  publish("llm_tool_result", { tool_use_id: "1", content, is_error: false });
  yield step("read", "done");
`)}`;

test("values of any size are a tree with search, copies and few elements", async () => {
  const id = await serving.run("large");
  await serving.until(id, "completed");
  const page = await open(serving, `/threads/${id}`);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const copied = (text: string) =>
    page.waitForFunction(
      async (part) => (await navigator.clipboard.readText()).includes(part),
      text,
    );
  const elements = () => page.evaluate(() => document.querySelectorAll("*").length);
  const table = await detailsOf(page, 1, "table");
  await table.getByRole("treeitem", { name: /^rows/ }).click();
  await table.getByRole("treeitem", { name: /^0 … 999:/ }).click();
  await table.getByRole("treeitem", { name: /^0:/ }).waitFor();
  expect(await elements()).toBeLessThan(2_000);
  await table.getByRole("searchbox", { name: "Search in Outputs" }).fill("ROW 29999");
  await table.getByText("1 found").waitFor();
  await page.keyboard.press("Enter");
  const found = table.getByRole("treeitem", { name: /^name: "row 29999"/, selected: true });
  await found.getByRole("button", { name: "Copy the path of name" }).click();
  await copied("rows[29999].name");

  const tree = table.getByRole("tree", { name: "Outputs" });
  await tree.focus();
  await page.keyboard.press("ArrowLeft");
  await table.getByRole("treeitem", { name: /^29999:/, selected: true }).waitFor();
  await page.keyboard.press("c");
  await copied('"n": 29999');

  const fields = await detailsOf(page, 2, "fields");
  await fields.getByRole("treeitem", { name: /^29000 … 29999:/ }).click();
  await page.keyboard.press("ArrowRight");
  await fields.getByRole("treeitem", { name: /^field29000:/ }).waitFor();
  expect(await violationsOf(page)).toEqual([]);

  const text = await detailsOf(page, 3, "text");
  await text.getByRole("button", { name: /^Show more \(/ }).click();
  await text.getByRole("button", { name: "Fork from here" }).click();
  await page.getByText(/Too long to edit here/).waitFor();
  await page.keyboard.press("Escape");

  await page.getByRole("row", { name: /read_orders/ }).click();
  await page.getByRole("button", { name: /^Show all \(/ }).click();
  await page.getByRole("treeitem", { name: /^orders/ }).waitFor();
  expect(await elements()).toBeLessThan(2_000);
}, 600_000);
