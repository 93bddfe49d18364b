// @alone: no task of a page takes longer than 100 ms.
import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { bundleOf } from "../../../packages/workflow/test/fixtures/bundles.ts";
import { Serving, stopServing } from "../../server/test/serving.ts";
import { closePages, open, useBrowser } from "./browser.ts";
import { buildConsole } from "./built.ts";

/** What a step may bring: a table, very many fields, and both as the text of a model. */
const large = bundleOf(`
  const rows = Array.from({ length: 30_000 }, (_, n) => ({ n, name: "row " + n, ok: n % 2 === 0 }));
  const fields = Object.fromEntries(rows.map(({ n, name }) => ["field" + n, name]));
  yield step("table", "a table", { rows });
  yield step("fields", "fields", fields);
  yield step("json", JSON.stringify(rows));
  yield step("text", "a line of a long text\\n".repeat(100_000));
`);

let serving: Serving;

useBrowser();
beforeAll(async () => {
  await buildConsole();
  serving = await Serving.start();
  await serving.add("large", large);
}, 120_000);
afterAll(stopServing, 60_000);
afterEach(async () => {
  expect(await closePages()).toEqual([]);
});

type TraceEvent = {
  name: string;
  pid: number;
  tid: number;
  tdur?: number;
  args: { name?: string };
};

/** The longest task of a page's own thread while something is done, in milliseconds of the processor's time. */
async function longestTask(page: Page, act: () => Promise<unknown>): Promise<number> {
  const browser = page.context().browser();
  if (!browser) throw new Error("the page has no browser");
  await browser.startTracing(page, {
    categories: ["toplevel", "disabled-by-default-devtools.timeline"],
  });
  await act();
  await page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50))),
  );
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as {
    traceEvents: TraceEvent[];
  };
  const threads = new Set(
    traceEvents
      .filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain")
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const tasks = traceEvents.filter(
    ({ name, pid, tid }) => name.endsWith("RunTask") && threads.has(`${pid} ${tid}`),
  );
  if (tasks.length === 0) throw new Error("the trace has no task");
  return Math.max(...tasks.map(({ tdur = 0 }) => tdur)) / 1_000;
}

test("values of any size hold up no page", async () => {
  const id = await serving.run("large");
  await serving.until(id, "completed");
  const page = await open(serving);
  const card = (number: number) =>
    page.getByRole("article", { name: new RegExp(`^Step ${number}:`) });
  const press = (number: number, name: RegExp) =>
    card(number).getByRole("button", { name }).last().click();
  const took: [string, number][] = [];
  const measure = async (name: string, act: () => Promise<unknown>) => {
    took.push([name, await longestTask(page, act)]);
  };
  await measure("open", async () => {
    await page.goto(`http://127.0.0.1:${serving.port}/threads/${id}`);
    await card(1).waitFor();
  });
  for (const number of [1, 2]) {
    await card(number).scrollIntoViewIfNeeded();
    await measure(`outputs ${number}`, () => press(number, /^Outputs/));
    await measure(`more ${number}`, () => press(number, /^Show more/));
  }
  for (const number of [3, 4]) {
    await page.keyboard.press("End");
    await card(number).waitFor();
    await measure(`all ${number}`, () => press(number, /^Show all/));
    await measure(`more ${number}`, () => press(number, /^Show more of/));
  }
  await measure("fork", async () => {
    await press(4, /^Fork from here/);
    await page.getByText(/too much to be edited here/).waitFor();
  });
  expect(took.filter(([, ms]) => ms > 100)).toEqual([]);
}, 120_000);
