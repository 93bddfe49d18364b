import { detailsOf } from "../../apps/web/test/trace.ts";
import type { Use } from "./use.ts";

/** Opens a thread with values of 20 MB, unfolds and searches them, and forks. */
export const useValues =
  (url: string): Use =>
  async (page, measure) => {
    await measure(async () => {
      await page.goto(url);
      await page.getByRole("row", { name: /\b4 line\b/ }).waitFor();
      await page.getByRole("article").waitFor();
    });
    await measure(async () => {
      const table = await detailsOf(page, 1, "table");
      await table.getByRole("treeitem", { name: /^rows/ }).click();
      await table
        .getByRole("treeitem", { name: /^\d+ … \d+:/ })
        .first()
        .click();
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("ArrowRight");
    });
    await measure(async () => {
      await page.getByRole("searchbox", { name: "Search in Outputs" }).fill("row 479999");
      await page.getByText("1 found").waitFor();
      await page.keyboard.press("Enter");
      await page.getByRole("treeitem", { name: /^name: "row 479999"/ }).waitFor();
    });
    await measure(async () => {
      const fields = await detailsOf(page, 2, "fields");
      await fields.getByRole("treeitem", { name: /^29000 … 29999:/ }).click();
      await page.keyboard.press("ArrowRight");
      await fields.getByRole("treeitem", { name: /^f29000:/ }).waitFor();
    });
    for (const [number, name] of [
      [3, "lines"],
      [4, "line"],
    ] as const) {
      await measure(async () => {
        const text = await detailsOf(page, number, name);
        await text.getByRole("button", { name: /^Show more \(/ }).click();
      });
    }
    for (const name of ["Graph", "State", "Events", "Trace"]) {
      await measure(async () => {
        await page.getByRole("tab", { name }).click();
        await page
          .getByRole("tabpanel", { name })
          .locator("button, li")
          .first()
          .waitFor({ state: "attached" });
      });
    }
    await measure(async () => {
      await page.getByRole("button", { name: "Fork from here" }).click();
      await page.getByText(/Too long to edit here/).waitFor();
    });
  };
