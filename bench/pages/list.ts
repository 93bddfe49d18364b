import type { Use } from "./use.ts";

/** Opens the list of threads, scrolls through thousands, filters, searches and selects. */
export const useList =
  (url: string): Use =>
  async (page, measure) => {
    const rows = page.getByRole("table", { name: "Threads" }).locator("[data-index]");
    const figure = page.getByText(/^[\d,]+ of 100,/);
    const loaded = async () => parseInt((await figure.innerText()).replaceAll(",", ""), 10);
    await measure(async () => {
      await page.goto(url);
      await rows.first().waitFor();
      await figure.waitFor();
    });
    await measure(async () => {
      while ((await loaded()) < 1_012) {
        await page.keyboard.press("End");
        await page.waitForTimeout(20);
      }
    });
    await measure(() => page.keyboard.press("Home"));
    await measure(async () => {
      for (let presses = 0; presses < 30; presses += 1) await page.keyboard.press("j");
    });
    await measure(() => page.getByLabel("Select all loaded threads").click());
    await measure(() => page.keyboard.press("Escape"));
    await measure(async () => {
      const answer = page.waitForResponse(/\/api\/threads\?.*status=completed/);
      await page.goto(`${url}?status=completed`);
      await answer;
    });
    await measure(async () => {
      const answer = page.waitForResponse(/\/api\/threads\?.*search=/);
      await page.getByRole("searchbox").first().fill("bench");
      await answer;
      await rows.first().waitFor();
    });
  };
