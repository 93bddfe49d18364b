import type { Browser, Page } from "playwright-core";

/** The speed and latency of an emulated connection. */
type Line = { bytesPerSecond: number; latencyMs: number };

/** A slow connection: 400 kbit/s. */
export const slow: Line = { bytesPerSecond: 50_000, latencyMs: 100 };

/** Milliseconds until a page's first paint and until an element appeared, and the KB received until then. */
export type Loaded = { paintMs: number; shownMs: number; kb: number };

/** Loads a page in a new browser context and waits until an element appears. */
export async function loadOf(
  browser: Browser,
  url: string,
  element: string,
  line?: Line,
): Promise<Loaded> {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    const received = await receivedBy(page, line);
    // The page measures the time: a query from outside would be late.
    await page.addInitScript(`new MutationObserver((_, observer) => {
      if (!document.querySelector(${JSON.stringify(element)})) return;
      performance.mark("whole");
      observer.disconnect();
    }).observe(document, { childList: true, subtree: true });`);
    await page.goto(url, { waitUntil: "commit" });
    await page.locator(element).first().waitFor();
    const kb = received() / 1_000;
    await page.waitForFunction("performance.getEntriesByName('first-contentful-paint').length > 0");
    const at = (name: string) =>
      page.evaluate((one) => performance.getEntriesByName(one)[0]?.startTime ?? Number.NaN, name);
    return { paintMs: await at("first-contentful-paint"), shownMs: await at("whole"), kb };
  } finally {
    await context.close();
  }
}

/** Emulates a line. Returns a function that counts the received bytes before decompression. */
async function receivedBy(page: Page, line?: Line): Promise<() => number> {
  const session = await page.context().newCDPSession(page);
  let bytes = 0;
  session.on("Network.loadingFinished", ({ encodedDataLength }) => (bytes += encodedDataLength));
  await session.send("Network.enable");
  if (line) {
    const { bytesPerSecond, latencyMs } = line;
    await session.send("Network.emulateNetworkConditions", {
      offline: false,
      latency: latencyMs,
      downloadThroughput: bytesPerSecond,
      uploadThroughput: bytesPerSecond,
    });
  }
  return () => bytes;
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
