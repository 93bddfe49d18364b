import type { Browser } from "playwright-core";

/** Milliseconds from when a page was asked for. */
export type Paint = {
  /** Until something of it was seen. */
  first: number;
  /** Until the element that was waited for was there. */
  whole: number;
};

/** Opens a page in a browser that has never seen it, and measures when it was painted. */
export async function paintOf(browser: Browser, url: string, element: string): Promise<Paint> {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    // Noted by the page itself, when it happens: a question from outside would come late.
    await page.addInitScript(`new MutationObserver((_, observer) => {
      if (!document.querySelector(${JSON.stringify(element)})) return;
      performance.mark("whole");
      observer.disconnect();
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

/**
 * How long after a moment each of some texts was in a page's document, in milliseconds. `bring` makes the
 * text come and gives the moment, on the clock that all processes of a machine share.
 */
export async function delaysOf(
  browser: Browser,
  urls: readonly string[],
  texts: readonly string[],
  bring: (text: string) => number,
): Promise<number[]> {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    await page.addInitScript(seen);
    for (const url of urls) await page.goto(url);
    await page.getByRole("heading", { level: 1 }).waitFor();
    const delays: number[] = [];
    for (const text of texts) {
      const wait = page.evaluate(
        (wanted) => (globalThis as unknown as { seen: Seen }).seen(wanted),
        text,
      );
      await page.waitForTimeout(60);
      const moment = bring(text);
      delays.push((await wait) - moment);
    }
    return delays;
  } finally {
    await context.close();
  }
}

type Seen = (wanted: string) => Promise<number>;

const seen = `globalThis.seen = (wanted) => new Promise((resolve) => {
  const observer = new MutationObserver(() => {
    if (!document.body.textContent.includes(wanted)) return;
    observer.disconnect();
    resolve(performance.timeOrigin + performance.now());
  });
  observer.observe(document.body, { childList: true, subtree: true, characterData: true });
});`;
