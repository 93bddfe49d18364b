import { beforeAll, describe, expect, test } from "bun:test";
import { keepPicture, type Look, open, useConsoleProcess } from "./browser.ts";
import { type Demo, demo } from "./demo.ts";
import { darken, violationsOf } from "./violations.ts";

const serving = useConsoleProcess();
let threads: Demo;

beforeAll(async () => {
  threads = await demo(serving);
}, 600_000);

type Shown = { path: (threads: Demo) => string; text: RegExp };

/** Each page with an element that appears when it is complete. */
const pages: Record<string, Shown> = {
  threads: { path: () => "/", text: /import-orders/ },
  start: { path: () => "/?start=solve-issue", text: /Max rounds/ },
  none: { path: () => "/?q=nothing+like+it", text: /No matching threads/ },
  thread: { path: ({ solved }) => `/threads/${solved}`, text: /planner/ },
  mail: { path: ({ mail }) => `/threads/${mail}?step=2`, text: /Tuesday/ },
  question: { path: ({ asking }) => `/threads/${asking}?step=2`, text: /Your answer/ },
  failed: { path: ({ failed }) => `/threads/${failed}`, text: /no date/ },
  stopped: { path: ({ stopped }) => `/threads/${stopped}`, text: /It reached its limit of rounds/ },
  asleep: { path: ({ asleep }) => `/threads/${asleep}?step=2`, text: /Sleeps until/ },
  steps: { path: ({ notes }) => `/threads/${notes}`, text: /Set_Notes/ },
  graph: { path: ({ notes }) => `/threads/${notes}?view=graph`, text: /Find the last tag/ },
  row: { path: ({ solved }) => `/threads/${solved}?step=3`, text: /The tests fail/ },
  live: { path: ({ long }) => `/threads/${long}?view=graph`, text: /checker/ },
  state: { path: ({ notes }) => `/threads/${notes}?view=state`, text: /Changed by this step/ },
  events: { path: ({ mail }) => `/threads/${mail}?view=events`, text: /worker_start/ },
  compare: {
    path: ({ solved, forked }) => `/threads/${solved}/compare/${forked}`,
    text: /the same/,
  },
  workflows: { path: () => "/workflows", text: /release-notes/ },
  versions: { path: () => "/workflows/review", text: /Roll back/ },
  roles: { path: () => "/workflows/solve-issue?view=roles", text: /the files to change/ },
  drawing: { path: () => "/workflows/release-notes?view=graph", text: /Find the last tag/ },
  source: { path: () => "/workflows/review?view=source", text: /export/ },
  add: { path: () => "/add", text: /Drop a file here/ },
  lost: { path: () => "/nowhere", text: /No page at this address/ },
};

const looks: Record<string, Look> = {
  wide: {},
  phone: { width: 380, height: 760 },
};

/** Each page in both themes. If not all cases run, pages alternate between the themes. */
const shownIn = (look: number) =>
  Object.entries(pages).filter((_, page) => process.env.TEST_CASES === "all" || page % 2 === look);

describe.each(Object.entries(looks))("in the look %s", (lookName, look) => {
  test.each(shownIn(Object.keys(looks).indexOf(lookName)))(
    "the page %s is complete and passes axe",
    async (name, { path, text }) => {
      const page = await open(serving, path(threads), look);
      await page.getByText(text).locator("visible=true").first().waitFor();
      await page.locator("[class*=shimmer]").first().waitFor({ state: "detached" });
      expect(await violationsOf(page)).toEqual([]);
      const tooWide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(tooWide).toBeLessThanOrEqual(0);
      await keepPicture(page, lookName === "wide" ? `${name}-light` : `${name}-${lookName}`);
      if (lookName !== "wide") return;
      // In the dark theme only colours differ.
      await darken(page);
      expect(await violationsOf(page, "color-contrast")).toEqual([]);
      await keepPicture(page, `${name}-dark`);
    },
    600_000,
  );
});

test("the list of threads is never wider than the window", async () => {
  const page = await open(serving, "/");
  await page.getByText("import-orders").locator("visible=true").first().waitFor();
  const tooWide: number[] = [];
  for (let width = 320; width <= 1_300; width += 20) {
    await page.setViewportSize({ width, height: 500 });
    const isTooWide = await page.evaluate(
      () => document.documentElement.scrollWidth > document.documentElement.clientWidth,
    );
    if (isTooWide) tooWide.push(width);
  }
  expect(tooWide).toEqual([]);
}, 600_000);
