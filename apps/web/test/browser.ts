import { afterAll, beforeAll } from "bun:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import type { Serving } from "../../server/test/serving.ts";
import { launch } from "./launch.ts";

/** How a page is looked at. */
export type Look = { width?: number; height?: number; theme?: "light" | "dark" };

let browser: Browser | null = null;
const contexts: BrowserContext[] = [];
const errors: string[] = [];

/** Starts the browser for the tests of a file, and ends it after them. */
export function useBrowser(): void {
  beforeAll(async () => {
    browser = await launch();
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    browser = null;
  }, 30_000);
}

/** Opens a page of the console as its reader would, by the address with the token. */
export async function open(serving: Serving, path = "/", look: Look = {}): Promise<Page> {
  if (!browser) throw new Error("useBrowser was not called");
  const { width = 1280, height = 860, theme = "light" } = look;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: "reduce",
    locale: "en-GB",
    timezoneId: "UTC",
  });
  contexts.push(context);
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  listen(page);
  const url = `http://127.0.0.1:${serving.port}`;
  await page.goto(`${url}/?token=${serving.token}`);
  if (path !== "/") await page.goto(url + path);
  return page;
}

/** Closes the pages, and gives what went wrong in them: exceptions, and what the policy refused. */
export async function closePages(): Promise<string[]> {
  await Promise.all(contexts.splice(0).map((context) => context.close()));
  return errors.splice(0);
}

// That the server is not reached is what some tests are about.
const expected = /net::ERR_|status of 4\d\d|Failed to load resource|this page can't be loaded/;

function listen(page: Page): void {
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && !expected.test(message.text())) errors.push(message.text());
  });
}
