import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect } from "bun:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import {
  type BundleName,
  Serving,
  ServingProcess,
  stopServing,
} from "../../../packages/server/test/serving.ts";
import { buildConsole } from "./built.ts";
import { launch } from "./launch.ts";

/** How a page is looked at. */
export type Look = { width?: number; height?: number; theme?: "light" | "dark" };

let browser: Browser | null = null;
/** One for each look: what a page has loaded, the next one of its look has in the cache. */
const contexts = new Map<string, BrowserContext>();
const errors: string[] = [];

/**
 * Gives the tests of a file a browser and a server with the named bundles, whose threads are in memory. After each test
 * its pages are closed, and none of them may have had an error.
 */
export const useConsole = (...names: BundleName[]): Serving => useServer(new Serving(), ...names);

/** As {@link useConsole}, with a server of the command's over a storage root. */
export function useConsoleProcess(...names: BundleName[]): ServingProcess {
  const serving = new ServingProcess();
  // A worker that waits for the next test's thread is quicker than a new one; it is ended with the server.
  serving.more = { UNCAGED_WORKFLOW_IDLE_MS: "60000" };
  return useServer(serving, ...names);
}

function useServer<S extends Serving>(serving: S, ...names: BundleName[]): S {
  beforeAll(async () => {
    await buildConsole();
    [browser] = await Promise.all([launch(), serving.begin(...names)]);
  }, 180_000);
  afterEach(async () => {
    expect(await closePages()).toEqual([]);
  });
  afterAll(async () => {
    contexts.clear();
    await Promise.all([browser?.close(), stopServing()]);
    browser = null;
  }, 180_000);
  return serving;
}

/** Opens a page of the console as its reader would, by the address with the token. */
export async function open(serving: Serving, path = "/", look: Look = {}): Promise<Page> {
  const context = await contextFor(look);
  const page = await context.newPage();
  const url = new URL(path, `http://127.0.0.1:${serving.port}`);
  url.searchParams.set("token", serving.token);
  await page.goto(url.href);
  return page;
}

/** Keeps a page as a picture, to be looked at, in the folder `CONSOLE_PICTURES`; not at all without it. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  const folder = process.env.CONSOLE_PICTURES;
  if (folder) await page.screenshot({ path: join(folder, `${name}.png`) });
}

async function contextFor(look: Look): Promise<BrowserContext> {
  if (!browser) throw new Error("useConsole was not called");
  const { width = 1280, height = 860, theme = "light" } = look;
  const name = `${width} ${height} ${theme}`;
  const before = contexts.get(name);
  if (before) return before;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: "reduce",
    locale: "en-GB",
    timezoneId: "UTC",
  });
  contexts.set(name, context);
  context.setDefaultTimeout(60_000);
  listen(context);
  return context;
}

/**
 * Closes the pages with what they stored, and gives what went wrong in them: exceptions, and what the policy
 * refused.
 */
export async function closePages(): Promise<string[]> {
  const pages = [...contexts.values()].flatMap((context) => context.pages());
  await Promise.all(
    pages.map(async (page) => {
      // A page of another site, or one that was never loaded, has none of the console's storage.
      await page.evaluate(() => localStorage.clear()).catch(() => {});
      await page.close();
    }),
  );
  return errors.splice(0);
}

// That the server is not reached, or refuses, is what some tests are about.
const expected =
  /net::ERR_|blocked by CORS policy|status of 4\d\d|Failed to load resource|this page can't be loaded/;

function listen(context: BrowserContext): void {
  context.on("weberror", (error) => errors.push(String(error.error())));
  context.on("console", (message) => {
    if (message.type() === "error" && !expected.test(message.text())) errors.push(message.text());
  });
}
