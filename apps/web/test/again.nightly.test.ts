import { beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { bundleOf } from "../../../packages/workflow/test/fixtures/bundles.ts";
import { child, failing, iterations, parent, sum } from "./again-flows.ts";
import { open, useConsole } from "./browser.ts";
import { pressUntil } from "./hand.ts";

const serving = useConsole("counter");

beforeAll(async () => {
  serving.write("child.json", JSON.stringify(child));
  for (const [name, flow] of Object.entries({ sum, iterations, failing, parent })) {
    expect((await serving.add(name, JSON.stringify(flow), `${name}.json`)).ok).toBe(true);
  }
  await serving.add("shaky", shaky);
}, 600_000);

/** Fails at its second step until the file `repaired` is there. */
const shaky = `import { existsSync } from "node:fs";
${bundleOf(`
  if (input.steps.length === 0) yield step("first", "kept");
  if (!existsSync(options.repaired)) throw new Error("not repaired yet");
  yield step("second", "repaired");
`)}`;

const idOf = (page: Page): string => /\/threads\/(\w+)/.exec(page.url())?.[1] ?? "";

/** Runs a workflow to its end and opens its thread. */
async function opened(workflow: string, status: "completed" | "failed" = "completed", view = "") {
  const id = await serving.run(workflow);
  await serving.until(id, status);
  return { id, page: await open(serving, `/threads/${id}${view}`) };
}

/** The thread that a page went to from another one, when it has ended. */
async function ended(page: Page, from: string) {
  await page.waitForURL((url) => url.pathname.includes("/threads/") && !url.href.includes(from));
  return await serving.until(idOf(page), "completed");
}

describe("a step workflow is gone on with from a card", () => {
  test("at its step, with another value of a variable", async () => {
    const { id, page } = await opened("sum");
    await page.getByText("the sum is 12").first().waitFor();
    await page.getByRole("button", { name: "Rerun from here, step 2" }).click();
    const dialog = page.getByRole("dialog", { name: "Rerun from step 2: Set_Sum" });
    await dialog.getByText("It goes on with Set_Sum").waitFor();
    await dialog.getByText("(19.5 KB)").waitFor();
    expect(await dialog.getByText("wide wide").count()).toBe(0);
    await dialog.getByRole("button", { name: "View $long" }).click();
    await dialog.getByText("wide wide").waitFor();
    await dialog.getByRole("button", { name: "Edit $a" }).click();
    const value = dialog.getByLabel("$a as JSON");
    expect(await value.inputValue()).toBe("2");
    await value.fill("30");
    await dialog.getByText("changed").waitFor();
    await dialog.getByRole("button", { name: "Rerun" }).click();
    expect((await ended(page, id)).forkFrom).toEqual({ threadId: id, steps: 1 });
    await page.getByText("the sum is 40").first().waitFor();
    await page.getByText("again from Set_Sum, with another $a").first().waitFor();
    await page.getByRole("button", { name: /^Log/ }).click();
    await page.getByText("Resuming from: Set_Sum").waitFor();
  }, 600_000);

  test("in a loop's second iteration, with another item", async () => {
    const { id, page } = await opened("iterations");
    await page.getByRole("button", { name: "Rerun from here, step 2" }).click();
    const dialog = page.getByRole("dialog", { name: "Rerun from step 2: Set_Out" });
    await dialog.getByRole("heading", { name: "Locals" }).waitFor();
    await dialog.getByRole("button", { name: "Edit _item" }).click();
    const value = dialog.getByLabel("_item as text");
    expect(await value.inputValue()).toBe("b");
    await value.fill("x");
    await dialog.getByRole("button", { name: "Edit $end" }).click();
    await dialog.getByLabel("$end as text").fill("?");
    await dialog.getByRole("button", { name: "Rerun" }).click();
    await ended(page, id);
    await page.getByText('it is ["a!","x?","c?"]').first().waitFor();
  }, 600_000);

  test("with no value that is no JSON; and what was changed can be taken back", async () => {
    const { id, page } = await opened("iterations");
    await page.getByRole("button", { name: "Rerun from here, step 3" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Edit $items" }).click();
    const value = dialog.getByLabel("$items as JSON");
    await value.fill('["a", "b",');
    await dialog.getByText("It is no JSON").waitFor();
    const rerun = dialog.getByRole("button", { name: "Rerun" });
    expect(await rerun.isDisabled()).toBe(true);
    await dialog.getByRole("button", { name: "Undo the change of $items" }).click();
    await value.waitFor({ state: "detached" });
    await dialog.getByLabel("Edit $items").and(page.locator(":focus")).waitFor();
    expect(await dialog.getByText("changed").count()).toBe(0);
    await rerun.click();
    const again = await ended(page, id);
    expect(again.steps[2]?.meta).toMatchObject({ for: "rerun", overrides: {} });
    await page.getByText('it is ["a!","b!","c!"]').first().waitFor();
  }, 600_000);

  test("and a value that it can't have is refused in the dialog, and nothing is started", async () => {
    const { page } = await opened("sum");
    await page.getByRole("button", { name: "Rerun from here, step 2" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Edit by" }).click();
    await dialog.getByLabel("by as JSON").fill('"ten"');
    const threads = async () => (await serving.ok<object[]>("/api/threads?limit=1000")).length;
    const before = await threads();
    await dialog.getByRole("button", { name: "Rerun" }).click();
    await dialog.getByRole("alert").getByText("by").first().waitFor();
    expect(await threads()).toBe(before);
  }, 600_000);

  test("at a step of a child workflow, with that workflow's values", async () => {
    const { id, page } = await opened("parent");
    await page.getByText("it got own word").first().waitFor();
    await page.getByRole("button", { name: "Rerun from here, step 2" }).click();
    const dialog = page.getByRole("dialog", { name: /Subflow_Child\/Set_Word/ });
    await dialog.getByText("This step is of the workflow that Subflow_Child runs").waitFor();
    await dialog.getByRole("button", { name: "Edit $word" }).click();
    await dialog.getByLabel("$word as text").fill("last");
    await dialog.getByRole("button", { name: "Rerun" }).click();
    await ended(page, id);
    await page.getByText("it got last word").first().waitFor();
  }, 600_000);

  test("behind its step, with the values that it left", async () => {
    const { id, page } = await opened("sum");
    await page.getByRole("button", { name: "Fork from here, after step 1" }).click();
    const dialog = page.getByRole("dialog", { name: "Fork after step 1: Set_A" });
    await dialog.getByRole("button", { name: "Edit $a" }).click();
    expect(await dialog.getByLabel("$a as JSON").inputValue()).toBe("2");
    await dialog.getByLabel("$a as JSON").fill("7");
    await dialog.getByRole("button", { name: "Fork" }).click();
    expect((await ended(page, id)).forkFrom).toEqual({ threadId: id, steps: 1 });
    await page.getByText("the sum is 17").first().waitFor();
  }, 600_000);

  test("at what failed, with what was wrong corrected", async () => {
    const { id, page } = await opened("failing", "failed");
    const buttons = page.getByRole("button", { name: "Rerun from here…" });
    await buttons.nth(1).waitFor();
    expect(await buttons.count()).toBe(2);
    for (const at of [0, 1]) {
      await buttons.nth(at).click();
      const dialog = page.getByRole("dialog", { name: "Rerun from step 3: Set_Out" });
      await dialog.getByRole("button", { name: "Edit $by" }).click();
      await dialog.getByLabel("$by as JSON").fill("3");
      if (at === 0) await page.keyboard.press("Escape");
      else await dialog.getByRole("button", { name: "Rerun" }).click();
      await dialog.waitFor({ state: "detached" });
    }
    expect((await ended(page, id)).forkFrom).toEqual({ threadId: id, steps: 2 });
    await page.getByText("it is [4,2]").first().waitFor();
  }, 600_000);
});

describe("a node of the graph", () => {
  const node = (page: Page, name: string) =>
    page.getByRole("button", { name: new RegExp(`^${name}\\b.*(done|idle)$`) });
  const items = async (page: Page) => await page.getByRole("menuitem").allInnerTexts();
  const all = ["Details", "Rerun from here…", "Fork from here…", "Copy id"];

  test("has a menu by the mouse", async () => {
    const { id, page } = await opened("sum", "completed", "?view=graph");
    await node(page, "Set_Sum").click();
    await page.getByRole("menu").waitFor();
    expect(await items(page)).toEqual(all);
    await page.getByRole("menuitem", { name: "Rerun from here…" }).click();
    const dialog = page.getByRole("dialog", { name: "Rerun from step 2: Set_Sum" });
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "detached" });
    await node(page, "Set_Never").click({ button: "right" });
    await page.getByRole("menu").waitFor();
    expect(await items(page)).toEqual(["Copy id"]);
    await page.keyboard.press("Escape");
    await page.getByRole("menu").waitFor({ state: "detached" });
    await node(page, "Set_Sum").click({ button: "right" });
    await page.getByRole("menuitem", { name: "Details" }).click();
    await page.waitForURL(`**/threads/${id}?step=2`);
    await page.getByRole("article", { name: "Step 2: Set_Sum" }).waitFor();
  }, 600_000);

  test("has it by the keyboard, and the focus comes back to it", async () => {
    const { id, page } = await opened("sum", "completed", "?view=graph");
    const set = node(page, "Set_Sum");
    await set.focus();
    for (const key of ["Enter", "Shift+F10", "ContextMenu", "Space"]) {
      await page.keyboard.press(key);
      await page.getByRole("menu").waitFor();
      expect(await items(page)).toEqual(all);
      await page.keyboard.press("Escape");
      await page.getByRole("menu").waitFor({ state: "detached" });
      await page.waitForFunction(() =>
        document.activeElement?.matches('.react-flow__node[data-id="Set_Sum"]'),
      );
    }
    await page.keyboard.press("Enter");
    await page.getByRole("menu").waitFor();
    const rerun = page.getByRole("menuitem", { name: "Rerun from here…" });
    await pressUntil(page, rerun, "ArrowDown");
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Rerun from step 2: Set_Sum" });
    const focus = page.locator(":focus");
    await dialog.getByRole("button", { name: "Edit $a" }).and(focus).waitFor();
    await page.keyboard.press("Enter");
    await dialog.getByLabel("$a as JSON").and(focus).waitFor();
    await page.keyboard.press("ControlOrMeta+A");
    await page.keyboard.type("5");
    for (let tabs = 0; tabs < 30 && (await textOfFocused(page)) !== "Rerun"; tabs += 1) {
      await page.keyboard.press("Tab");
    }
    await page.keyboard.press("Enter");
    await ended(page, id);
    await page.getByText("the sum is 15").first().waitFor();
  }, 600_000);
});

test("the dialog that a node's menu opened has the focus, also where nothing is waited for", async () => {
  const { page } = await opened("counter", "completed", "?view=graph");
  const role = page.locator(".react-flow__node").first();
  for (let times = 0; times < 2; times += 1) {
    await role.focus();
    await page.keyboard.press("Enter");
    const menu = page.getByRole("menu");
    const focus = page.locator(":focus");
    await menu.and(focus).or(menu.locator(focus)).waitFor();
    await page.keyboard.press("r");
    await menu.getByRole("menuitem", { name: "Rerun from here…" }).and(focus).waitFor();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    await page.waitForFunction(() => document.activeElement?.tagName === "TEXTAREA");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.waitForFunction(() => document.activeElement?.matches(".react-flow__node"));
  }
}, 600_000);

const textOfFocused = (page: Page): Promise<string> =>
  page.evaluate(() => document.activeElement?.textContent ?? "");

test("what failed is taken up again by a retry", async () => {
  const repaired = `${serving.folder}/repaired`;
  const id = await serving.run("shaky", { repaired });
  await serving.until(id, "failed");
  const page = await open(serving, `/threads/${id}`);
  await page.getByText("not repaired yet").first().waitFor();
  serving.write("repaired", "");
  await page.getByRole("button", { name: "Retry" }).first().click();
  await page.waitForURL((url) => !url.href.includes(id));
  await page.getByText("repaired", { exact: true }).first().waitFor();
  const retried = await serving.until(idOf(page), "completed");
  expect(retried.forkFrom).toEqual({ threadId: id, steps: 1 });
}, 600_000);
