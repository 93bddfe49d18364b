import { beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { open, useConsole } from "./browser.ts";
import { detailsOf } from "./trace.ts";

const serving = useConsole();

/** Two steps that count, and a long text. */
const sum = {
  version: "3.18",
  name: "Sum",
  registry: {
    params: ["by(INT) = 10"],
    vars: [
      "$a(INT) = 1",
      "$sum(INT) = 0",
      `$long(STRING) = ${JSON.stringify("wide ".repeat(4_000))}`,
    ],
  },
  steps: [
    { id: "Set_A", target: "$a", value: 2, next: "Set_Sum" },
    { id: "Set_Sum", target: "$sum", value: "=$a + by", onError: "Set_Never", next: "Stop_End" },
    { id: "Set_Never", target: "$sum", value: 0, next: "Stop_End" },
    { id: "Stop_End", reason: "='the sum is ' + $sum" },
  ],
};

beforeAll(async () => {
  expect((await serving.add("sum", JSON.stringify(sum), "sum.json")).ok).toBe(true);
}, 600_000);

const idOf = (page: Page): string => /\/threads\/(\w+)/.exec(page.url())?.[1] ?? "";

/** Runs the workflow and opens its thread. */
async function opened(view = "") {
  const id = await serving.run("sum");
  await serving.until(id, "completed");
  return { id, page: await open(serving, `/threads/${id}${view}`) };
}

/** The ended thread that a page has moved to. */
async function ended(page: Page, from: string) {
  await page.waitForURL((url) => url.pathname.includes("/threads/") && !url.href.includes(from));
  return await serving.until(idOf(page), "completed");
}

describe("a step workflow is rerun from a row", () => {
  test("at its step, with another value of a variable", async () => {
    const { id, page } = await opened();
    await page.getByText("the sum is 12").first().waitFor();
    const step = await detailsOf(page, 2, "Set_Sum");
    await step.getByRole("button", { name: "Rerun from here" }).click();
    const dialog = page.getByRole("dialog", { name: "Rerun from step 2: Set_Sum" });
    await dialog.getByText("It continues at Set_Sum").waitFor();
    const value = dialog.getByLabel("$a as JSON");
    expect(await value.inputValue()).toBe("2");
    await value.fill("30");
    await dialog.getByText("changed").waitFor();
    await dialog.getByRole("button", { name: "Rerun" }).click();
    expect((await ended(page, id)).forkFrom).toEqual({ threadId: id, steps: 1 });
    await page.getByText("the sum is 40").first().waitFor();
    await page.getByRole("tab", { name: "Events" }).click();
    await page.getByText("rerun from Set_Sum, with other values of $a").first().waitFor();
    await page.getByText("sum, Set_Sum").waitFor();
    await page.getByLabel("Type").selectOption("rerun");
    await page.getByRole("status").filter({ hasText: "1 of" }).waitFor();
    await page.getByRole("listitem").getByRole("button", { name: "Set_Sum" }).click();
    await page.getByRole("article", { name: "Details of Rerun" }).waitFor();
  }, 600_000);

  test("and an invalid value is refused in the dialog without a start, and stays after Escape", async () => {
    const { page } = await opened();
    const step = await detailsOf(page, 2, "Set_Sum");
    await step.getByRole("button", { name: "Rerun from here" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("by as JSON").fill('"ten"');
    const threads = async () => (await serving.ok<object[]>("/api/threads?limit=1000")).length;
    const before = await threads();
    await dialog.getByRole("button", { name: "Rerun" }).click();
    await dialog.getByRole("alert").getByText("by").first().waitFor();
    expect(await threads()).toBe(before);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await step.getByRole("button", { name: "Rerun from here" }).click();
    expect(await dialog.getByLabel("by as JSON").inputValue()).toBe('"ten"');
  }, 600_000);
});

describe("a node of the graph", () => {
  const node = (page: Page, name: string) =>
    page.getByRole("button", { name: new RegExp(`^${name}\\b.*(done|idle)$`) });

  test("is selected by keyboard, and rerun by a key", async () => {
    const { id, page } = await opened("?view=graph");
    await node(page, "Set_Sum").focus();
    await page.keyboard.press("Enter");
    await page.getByRole("article", { name: "Details of Set_Sum" }).waitFor();
    expect(new URL(page.url()).searchParams.get("row")).not.toBeNull();
    await page.waitForFunction(() =>
      document.activeElement?.matches('.react-flow__node[data-id="Set_Sum"]'),
    );
    await page.keyboard.press("r");
    const dialog = page.getByRole("dialog", { name: "Rerun from step 2: Set_Sum" });
    const focus = page.locator(":focus");
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

const textOfFocused = (page: Page): Promise<string> =>
  page.evaluate(() => document.activeElement?.textContent ?? "");
