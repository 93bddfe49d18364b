import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import axe from "axe-core";
import type { Page } from "playwright-core";
import { stopServing } from "../../server/test/serving.ts";
import { closePages, type Look, open, useBrowser } from "./browser.ts";
import { buildConsole } from "./built.ts";
import { type Demo, demo } from "./demo.ts";

/** Where the pages are kept as pictures, to be looked at; not at all without it. */
const pictures = process.env.CONSOLE_PICTURES;

let shown: Demo;

useBrowser();
beforeAll(async () => {
  await buildConsole();
  shown = await demo();
}, 180_000);
afterAll(stopServing, 60_000);
afterEach(async () => {
  expect(await closePages()).toEqual([]);
});

type Shown = { path: (threads: Demo["threads"]) => string; text: RegExp };

/** Each page, and what is seen there when it is whole. */
const pages: Record<string, Shown> = {
  threads: { path: () => "/", text: /import-orders/ },
  start: { path: () => "/?start=solve-issue", text: /Max rounds/ },
  none: { path: () => "/?q=nothing+like+it", text: /No thread fits/ },
  thread: { path: ({ solved }) => `/threads/${solved}`, text: /planner/ },
  mail: { path: ({ mail }) => `/threads/${mail}`, text: /Tuesday/ },
  question: { path: ({ asking }) => `/threads/${asking}`, text: /Your answer/ },
  failed: { path: ({ failed }) => `/threads/${failed}`, text: /no date/ },
  steps: { path: ({ notes }) => `/threads/${notes}`, text: /Tool_LastTag/ },
  graph: { path: ({ notes }) => `/threads/${notes}?view=graph`, text: /Find the last tag/ },
  timeline: { path: ({ solved }) => `/threads/${solved}?view=timeline`, text: /reviewer/ },
  compare: {
    path: ({ solved, forked }) => `/threads/${solved}/compare/${forked}`,
    text: /the same/,
  },
  workflows: { path: () => "/workflows", text: /release-notes/ },
  versions: { path: () => "/workflows/review", text: /role historian added/ },
  roles: { path: () => "/workflows/solve-issue?view=roles", text: /the files to change/ },
  drawing: { path: () => "/workflows/release-notes?view=graph", text: /Find the last tag/ },
  source: { path: () => "/workflows/review?view=source", text: /export/ },
  add: { path: () => "/add", text: /Drop a file here/ },
  lost: { path: () => "/nowhere", text: /no such page/ },
};

const looks: Record<string, Look> = {
  light: { theme: "light" },
  dark: { theme: "dark" },
  phone: { theme: "light", width: 380, height: 760 },
};

describe.each(Object.entries(looks))("in the look %s", (lookName, look) => {
  test.each(Object.entries(pages))(
    "the page %s is whole, and no rule of axe is broken",
    async (name, { path, text }) => {
      const page = await open(shown.serving, path(shown.threads), look);
      await page.getByText(text).locator("visible=true").first().waitFor();
      await page.locator("[class*=shimmer]").first().waitFor({ state: "detached" });
      expect(await violationsOf(page)).toEqual([]);
      const tooWide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(tooWide).toBeLessThanOrEqual(0);
      if (pictures) await keep(page, pictures, `${name}-${lookName}.png`);
    },
    60_000,
  );
});

async function keep(page: Page, folder: string, name: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, name) });
}

/** What axe finds wrong, a line each. */
async function violationsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() =>
    (globalThis as unknown as { axe: typeof axe }).axe.run(document, {
      resultTypes: ["violations"],
    }),
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary}`),
  );
}
