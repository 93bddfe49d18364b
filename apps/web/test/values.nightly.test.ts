import { beforeAll, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { bundleOf } from "../../../packages/workflow/test/fixtures/bundles.ts";
import { open, useConsole } from "./browser.ts";

const serving = useConsole();

beforeAll(async () => {
  await serving.add("reader", reader);
}, 600_000);

/** A model that is given 60 KB, and whose tool reads 30 KB: nothing of either is committed. */
const reader = `import { channel } from "node:diagnostics_channel";
${bundleOf(`
  const publish = (type, payload) => channel("uncaged.workflow").publish({ type, stepID: "read", payload });
  const resolvedInputs = { page: "a ".repeat(30_000) + "last word of the page" };
  publish("step_start", { type: "Role", meta: { title: "Read" }, resolvedInputs });
  const content = { file: "b ".repeat(15_000) + "last word of the file", big: "c".repeat(options.more ?? 0) };
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

test("a value that is lost is reported as lost, and a request that failed can be repeated", async () => {
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
  await page.getByText("The log keeps no more of it than this.").waitFor();
}, 600_000);

test("one of more than a megabyte opens in a tab of its own", async () => {
  const id = await serving.run("reader", { more: 1_500_000 });
  await serving.until(id, "completed");
  const page = await open(serving, `/threads/${id}`);
  await openSections(page);
  const [tab] = await Promise.all([
    page.context().waitForEvent("page"),
    page.getByRole("link", { name: /^Open all of it/ }).click(),
  ]);
  await tab.waitForLoadState();
  expect((await tab.content()).length).toBeGreaterThan(1_500_000);
}, 600_000);
