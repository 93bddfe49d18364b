import { beforeAll, test } from "bun:test";
import { bundleOf } from "../../../packages/workflow/test/fixtures/bundles.ts";
import { open, useConsole } from "./browser.ts";

/** What a step may bring: a table, very many fields, and both as the text of a model. */
const large = bundleOf(`
  const rows = Array.from({ length: 30_000 }, (_, n) => ({ n, name: "row " + n, ok: n % 2 === 0 }));
  const fields = Object.fromEntries(rows.map(({ n, name }) => ["field" + n, name]));
  yield step("table", "a table", { rows });
  yield step("fields", "fields", fields);
  yield step("json", JSON.stringify(rows));
  yield step("text", "a line of a long text\\n".repeat(100_000));
`);

const serving = useConsole();

beforeAll(async () => {
  await serving.add("large", large);
}, 600_000);

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
    await press(number, /^Show more of/);
  }
  await press(4, /^Fork from here/);
  await page.getByText(/too much to be edited here/).waitFor();
}, 600_000);
