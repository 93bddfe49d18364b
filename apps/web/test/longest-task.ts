import type { Page } from "playwright-core";

type TraceEvent = {
  name: string;
  pid: number;
  tid: number;
  tdur?: number;
  args: { name?: string };
};

/**
 * What a task of a page may take in a test, in milliseconds of the processor's time: twice the 100 that are asked of the
 * console on a quiet machine, for a shared processor takes up to 1.8 times as long for the same work; and as much more as
 * this one takes for a piece of work of its own.
 */
export async function mostTaskMs(page: Page): Promise<number> {
  const own = await longestTask(page, async () => {
    for (let n = 0; n < 3; n += 1) await page.evaluate(ownWork);
  });
  return Math.max(200, (200 * own) / quietMs);
}

/** What {@link ownWork} takes, the longest of three times, on a machine as those 200 are for. */
const quietMs = 50;

/** Texts that are made, taken apart and thrown away, as a page with large values has them. */
function ownWork(): number {
  const rows = Array.from({ length: 30_000 }, (_, n) => ({ n, name: `row ${n}`, ok: n % 2 === 0 }));
  let lines = 0;
  for (let n = 0; n < 3; n += 1) lines += JSON.stringify(rows, null, 2).split("\n").length;
  return lines;
}

/** The longest task of a page's own thread while something is done, in milliseconds of the processor's time. */
export async function longestTask(page: Page, act: () => Promise<unknown>): Promise<number> {
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
