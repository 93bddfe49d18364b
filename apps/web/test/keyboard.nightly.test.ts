import { expect, test } from "bun:test";
import { linkOf, open, rowOf, useConsole } from "./browser.ts";
import { pressUntil } from "./hand.ts";

const serving = useConsole("counter");

test("j and k move through rows, i shows details, c copies the id, Enter opens a thread, / searches", async () => {
  const ids = [await serving.run("counter"), await serving.run("counter")];
  for (const id of ids) await serving.until(id, "completed");
  const page = await open(serving);
  const [first = "", second = ""] = ids;
  const focused = (id: string) => linkOf(page, id).and(page.locator(":focus")).waitFor();
  await linkOf(page, first).waitFor();
  await page.keyboard.press("j");
  await focused(second);
  await page.keyboard.press("j");
  await focused(first);
  await page.keyboard.press("k");
  await focused(second);
  await page.keyboard.press("i");
  await rowOf(page, second).getByText(second).waitFor();
  await page.keyboard.press("c");
  await page.getByText(`the id ${second}`).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/threads/${second}`);
  await page.keyboard.press("g");
  await page.keyboard.press("t");
  await page.getByRole("heading", { name: "Threads" }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type(first);
  await linkOf(page, second).waitFor({ state: "detached" });
  expect(await linkOf(page, first).count()).toBe(1);
}, 600_000);

test("? lists the keys, the dialog holds the focus, and Escape returns it", async () => {
  const page = await open(serving);
  await pressUntil(page, page.getByRole("link", { name: "Add", exact: true }), "Tab");
  await page.keyboard.press("?");
  const dialog = page.getByRole("dialog", { name: "Keys" });
  // The dialog takes the focus one frame after it appears. It also needs a frame to move the focus back from its edges.
  const focused = dialog.locator(":focus").first();
  await focused.waitFor();
  for (let presses = 0; presses < 6; presses += 1) {
    await page.keyboard.press("Tab");
    await focused.waitFor();
  }
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("link", { name: "Add", exact: true }).and(page.locator(":focus")).waitFor();
}, 600_000);

test("the first Tab skips the navigation", async () => {
  const page = await open(serving);
  await page.getByRole("heading", { name: "Threads" }).waitFor();
  await page.keyboard.press("Tab");
  expect(await page.locator(":focus").textContent()).toBe("Skip to the content");
  await page.keyboard.press("Enter");
  await page.locator("#main:focus").waitFor();
}, 600_000);

test("the rows of a trace are selected, folded and opened by keys, and f forks from one", async () => {
  const id = await serving.run("counter");
  await serving.until(id, "completed");
  const page = await open(serving, `/threads/${id}?step=1`);
  const row = page.locator("[role=row][aria-selected=true]");
  const selects = (name: RegExp) => row.filter({ hasText: name }).waitFor();
  await selects(/1count/);
  await pressUntil(page, page.getByRole("treegrid", { name: "Trace" }), "Tab");
  await page.keyboard.press("ArrowDown");
  await selects(/2count/);
  await page.keyboard.press("End");
  await selects(/3count/);
  await page.keyboard.press("Home");
  await selects(/1count/);
  await page.keyboard.press("ArrowUp");
  await selects(/1count/);
  await page.keyboard.press("Enter");
  await page.waitForFunction(
    () => document.activeElement?.querySelector("article")?.ariaLabel === "Details of count",
  );
  expect(new URL(page.url()).searchParams.get("row")).not.toBeNull();
  await page.keyboard.press("f");
  await page.getByRole("dialog", { name: /^Fork after step 1/ }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("article").locator(":focus").waitFor();
  await page.keyboard.press("/");
  await page.getByLabel("Search the trace").and(page.locator(":focus")).waitFor();
}, 600_000);
