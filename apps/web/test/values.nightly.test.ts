import { beforeAll, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { bundleOf } from "../../../packages/workflow/test/fixtures/bundles.ts";
import { open, useConsoleProcess } from "./browser.ts";

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

async function openSections(page: Page): Promise<void> {
  for (const name of [/^Inputs/, /^Tool calls/]) await page.getByRole("button", { name }).click();
}

test("an input of 60 KB and a tool's output of 30 KB open in full", async () => {
  const id = await serving.run("reader");
  await serving.until(id, "completed");
  const page = await open(serving, `/threads/${id}`);
  await openSections(page);
  for (const word of ["last word of the page", "last word of the file"]) {
    expect(await page.getByText(word).count()).toBe(0);
    await page
      .getByRole("button", { name: /^Show all/ })
      .first()
      .click();
    await page.getByText(word).waitFor();
  }
  expect(await page.getByRole("button", { name: /^Show all/ }).count()).toBe(0);
}, 600_000);

test("a lost value is reported as lost, and a failed request can be repeated", async () => {
  const id = await serving.run("reader");
  const { hash } = await serving.until(id, "completed");
  const page = await open(serving, `/threads/${id}`);
  await openSections(page);
  await page.route("**/values/*", (route) => route.abort());
  await page
    .getByRole("button", { name: /^Show all/ })
    .first()
    .click();
  await page.getByText("The server can't be reached").waitFor();
  await page.unroute("**/values/*");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("last word of the page").waitFor();
  rmSync(join(serving.path, "logs", hash, `${id}.values.jsonl`));
  await page.getByRole("button", { name: /^Show all/ }).click();
  await page.getByText("The log keeps only this part.").waitFor();
}, 600_000);

/** Large step values: a table, an object with many fields, JSON text, and plain text. */
const large = bundleOf(`
  const rows = Array.from({ length: 30_000 }, (_, n) => ({ n, name: "row " + n, ok: n % 2 === 0 }));
  const fields = Object.fromEntries(rows.map(({ n, name }) => ["field" + n, name]));
  yield step("table", "a table", { rows });
  yield step("fields", "fields", fields);
  yield step("json", JSON.stringify(rows));
  yield step("text", "a line of a long text\\n".repeat(100_000));
`);

test("values of any size are shown in parts", async () => {
  const id = await serving.run("large");
  await serving.until(id, "completed");
  const page = await open(serving);
  const card = (number: number) =>
    page.getByRole("article", { name: new RegExp(`^Step ${number}:`) });
  const press = (number: number, name: RegExp) =>
    card(number).getByRole("button", { name }).last().click();
  await page.goto(`http://127.0.0.1:${serving.port}/threads/${id}`);
  await card(1).waitFor();
  for (const number of [1, 2]) {
    await card(number).scrollIntoViewIfNeeded();
    await press(number, /^Outputs/);
    await press(number, /^Show more/);
  }
  for (const number of [3, 4]) {
    await page.keyboard.press("End");
    await card(number).waitFor();
    await press(number, /^Show all/);
    await press(number, /^Show more \(/);
  }
  await press(4, /^Fork from here/);
  await page.getByText(/Too long to edit here/).waitFor();
}, 600_000);
