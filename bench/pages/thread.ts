import { stepRow } from "../../apps/web/test/trace.ts";
import type { Use } from "./use.ts";

/** Opens a thread with `steps` ended steps, and agents that stream; moves, searches, folds, zooms and changes tabs. */
export const useThread =
  (url: string, steps: number): Use =>
  async (page, measure) => {
    const work = (number: number) => stepRow(page, number, "work");
    const press = (name: string) => page.getByRole("button", { name, exact: true }).click();
    /** Waits one second, in which the agents stream. */
    const stream = () => page.waitForTimeout(1_000);
    const details = page.getByRole("article", { name: /^Details of / });
    const trace = page.getByRole("treegrid", { name: "Trace" });
    await measure(async () => {
      await page.goto(url);
      await trace.waitFor();
      await details.waitFor();
      await stream();
    });
    await measure(async () => {
      await trace.focus();
      await page.keyboard.press("End");
      await page.waitForURL(/row=/);
      await page.keyboard.press("ArrowLeft");
      await stream();
    });
    await measure(() => press("Follow"));
    await measure(async () => {
      await trace.focus();
      await page.keyboard.press("Home");
      await work(1).waitFor();
      for (let presses = 0; presses < 20; presses += 1) await page.keyboard.press("ArrowDown");
      await stream();
    });
    await measure(async () => {
      await page.keyboard.press("End");
      await stream();
    });
    await measure(() => press("Zoom in"));
    await measure(async () => {
      await page.getByLabel("Search the trace").fill("look");
      await stream();
    });
    for (const name of ["Graph", "State", "Events", "Trace"]) {
      await measure(async () => {
        await page.getByRole("tab", { name }).click();
        await page
          .getByRole("tabpanel", { name })
          .locator("button, li")
          .first()
          .waitFor({ state: "attached" });
        await stream();
      });
    }
    await measure(async () => {
      await page.goto(`${url}?step=${Math.floor(steps / 2)}`);
      await work(Math.floor(steps / 2)).waitFor();
      await stream();
    });
  };
