import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect } from "bun:test";
import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import {
  type BundleName,
  Serving,
  ServingProcess,
  stopServing,
} from "../../../packages/server/test/serving.ts";
import { buildConsole } from "./built.ts";
import { launch } from "./launch.ts";

/** Viewport and theme of a page. */
export type Look = { width?: number; height?: number; theme?: "light" | "dark" };

let browser: Browser | null = null;
/** One context per look, so that later pages use the cache. */
const contexts = new Map<string, BrowserContext>();
const errors: string[] = [];

/**
 * Sets up a browser and a server with bundles for the tests of a file. Threads are in memory. Closes pages after each
 * test and asserts that they had no errors.
 */
export const useConsole = (...names: BundleName[]): Serving => useServer(new Serving(), ...names);

/** Like {@link useConsole}, with the command's server over a storage root. */
export function useConsoleProcess(...names: BundleName[]): ServingProcess {
  const serving = new ServingProcess();
  // Keep idle workers, because a new worker takes time to start. They exit with the server.
  serving.more = { UNCAGED_WORKFLOW_IDLE_MS: "60000" };
  return useServer(serving, ...names);
}

/** Like {@link useConsole}, with the given server. */
export function useServer<S extends Serving>(serving: S, ...names: BundleName[]): S {
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

/** Opens a page of the console by an address with the token. */
export async function open(serving: Serving, path = "/", look: Look = {}): Promise<Page> {
  const context = await contextFor(look);
  const page = await context.newPage();
  const url = new URL(path, `http://127.0.0.1:${serving.port}`);
  url.searchParams.set("token", serving.token);
  await page.goto(url.href);
  return page;
}

/** The link of a thread in the list. Its text is the thread's subject. */
export const linkOf = (page: Page, id: string): Locator =>
  page.getByRole("table", { name: "Threads" }).locator(`a[href="/threads/${id}"]`);

/** The row of a thread in the list. */
export const rowOf = (page: Page, id: string): Locator =>
  page.getByRole("row").filter({ has: page.locator(`a[href="/threads/${id}"]`) });

/** Saves a screenshot in the folder `CONSOLE_PICTURES`, if it is set. */
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

/** Closes pages, clears their storage, and returns their errors: exceptions and policy violations. */
export async function closePages(): Promise<string[]> {
  const pages = [...contexts.values()].flatMap((context) => context.pages());
  await Promise.all(
    pages.map(async (page) => {
      // Ignore errors, because other sites and pages that never loaded have no storage of the console.
      await page.evaluate(() => localStorage.clear()).catch(() => {});
      await page.close();
    }),
  );
  return errors.splice(0);
}

// Some tests stop the server or make it refuse.
const expected =
  /net::ERR_|blocked by CORS policy|status of 4\d\d|Failed to load resource|this part of the console can't be loaded/;

function listen(context: BrowserContext): void {
  context.on("weberror", (error) => errors.push(String(error.error())));
  context.on("console", (message) => {
    if (message.type() === "error" && !expected.test(message.text())) errors.push(message.text());
  });
}
