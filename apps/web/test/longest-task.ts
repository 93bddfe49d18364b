import type { Page } from "playwright-core";

type TraceEvent = {
  name: string;
  pid: number;
  tid: number;
  tdur?: number;
  args: { name?: string };
};

/** Processor time of the longest task of a page's main thread during an action, in milliseconds. */
export async function longestTask(page: Page, act: () => Promise<unknown>): Promise<number> {
  const browser = page.context().browser();
  if (!browser) throw new Error("the page has no browser");
  await browser.startTracing(page, {
    categories: ["toplevel", "disabled-by-default-devtools.timeline"],
  });
  await act();
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))");
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
