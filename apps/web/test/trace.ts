import type { Locator, Page } from "playwright-core";

/** The row of a step in a thread's trace. */
export const stepRow = (page: Page, number: number, name: string): Locator =>
  page.getByRole("row", { name: new RegExp(`\\b${number} ${name}\\b`) });

/** Selects the row of a step, and returns its details. */
export async function detailsOf(page: Page, number: number, name: string): Promise<Locator> {
  const row = stepRow(page, number, name);
  await row.click();
  await row.and(page.locator("[aria-selected=true]")).waitFor({ state: "attached" });
  const details = page.getByRole("article", { name: `Details of ${name}` });
  await details.waitFor();
  return details;
}
