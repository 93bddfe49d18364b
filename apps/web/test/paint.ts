import type { Browser } from "playwright-core";

/** Milliseconds until an element of a page appears in a new browser. */
export async function loadOf(browser: Browser, url: string, element: string): Promise<number> {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    // The page measures the time: a query from outside would be late.
    await page.addInitScript(`new MutationObserver((_, observer) => {
      if (!document.querySelector(${JSON.stringify(element)})) return;
      performance.mark("whole");
      observer.disconnect();
    }).observe(document, { childList: true, subtree: true });`);
    await page.goto(url);
    await page.locator(element).first().waitFor();
    return await page.evaluate(
      () => performance.getEntriesByName("whole")[0]?.startTime ?? Number.NaN,
    );
  } finally {
    await context.close();
  }
}

/**
 * Milliseconds until each text appears in a page. `bring` publishes the text and returns the time on the machine's
 * common clock.
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
