import type { Browser } from "playwright-core";

/** Milliseconds from when a page was asked for. */
export type Paint = {
  /** Until something of it was seen. */
  first: number;
  /** Until the element that was waited for was there. */
  whole: number;
};

/** Opens a page in a browser that has never seen it, and tells when it was painted. */
export async function paintOf(browser: Browser, url: string, element: string): Promise<Paint> {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    // Noted by the page itself, when it happens: a question from outside would come late.
    await page.addInitScript(`new MutationObserver((_, watch) => {
      if (!document.querySelector(${JSON.stringify(element)})) return;
      performance.mark("whole");
      watch.disconnect();
    }).observe(document, { childList: true, subtree: true });`);
    await page.goto(url);
    await page.locator(element).first().waitFor();
    return await page.evaluate(() => {
      const at = (name: string) => performance.getEntriesByName(name)[0]?.startTime ?? Number.NaN;
      return { first: at("first-contentful-paint"), whole: at("whole") };
    });
  } finally {
    await context.close();
  }
}
