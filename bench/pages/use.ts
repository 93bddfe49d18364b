import { longestTask } from "../../apps/web/test/longest-task.ts";
import type { launch } from "../../apps/web/test/launch.ts";
import { type Sample, sampleOf } from "../measure.ts";

type Browser = Awaited<ReturnType<typeof launch>>;
export type Page = Awaited<ReturnType<Browser["newPage"]>>;

/** Uses a page. `measure` records the longest task of an action, and the number of elements after the action. */
export type Use = (
  page: Page,
  measure: (act: () => Promise<unknown>) => Promise<void>,
) => Promise<void>;

/** The longest task in milliseconds, and the largest number of elements. */
export type Found = { task: Sample; elements: Sample };

/** Uses several new pages of an address one after another. */
export async function used(browser: Browser, url: string, times: number, use: Use): Promise<Found> {
  const tasks: number[] = [];
  const elements: number[] = [];
  for (let n = 0; n < times; n += 1) {
    const context = await browser.newContext({ reducedMotion: "reduce" });
    context.setDefaultTimeout(120_000);
    const page = await context.newPage();
    let longest = 0;
    let most = 0;
    await page.goto(url);
    await use(page, async (act) => {
      const task = await longestTask(page, act);
      longest = Math.max(longest, task);
      most = Math.max(most, await page.evaluate("document.querySelectorAll('*').length"));
    });
    tasks.push(longest);
    elements.push(most);
    await context.close();
  }
  return { task: sampleOf(tasks), elements: sampleOf(elements) };
}
