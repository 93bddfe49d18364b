import { beforeAll, expect, test } from "bun:test";
import { bundleOf } from "../../../packages/workflow/test/fixtures/bundles.ts";
import { open, useConsole } from "./browser.ts";

const odd = {
  type: "object",
  required: ["toString"],
  properties: { constructor: { type: "string" }, toString: { type: "integer" } },
};
const oddForm = bundleOf('yield step("reported", String(options.toString));').replace(
  "roles: {}",
  `roles: {}, input: ${JSON.stringify(odd)}`,
);

const serving = useConsole();

beforeAll(async () => {
  await serving.add("odd", oddForm);
}, 600_000);

test("a form with fields of any name goes to what is missing, and a double click starts one thread", async () => {
  const page = await open(serving, "/?start=odd");
  const field = page.getByLabel("toString", { exact: true });
  await field.waitFor();
  const start = page.getByRole("dialog").getByRole("button", { name: "Start" });
  await start.click();
  await page.getByText("This must be filled in.").waitFor();
  expect(await field.evaluate((input) => input === document.activeElement)).toBe(true);
  await field.fill("7");
  await start.dblclick();
  await page.getByRole("article", { name: "Step 1: reported" }).waitFor();
  const threads = await serving.ok<unknown[]>("/api/threads?workflow=odd");
  expect(threads).toHaveLength(1);
}, 600_000);
