import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { bundleOf } from "../../../packages/workflow/test/fixtures/bundles.ts";
import { open, useConsole } from "./browser.ts";

/* Lines of 10 MB in the fields that lists and headers show. */

const serving = useConsole();

const text = `import { channel } from "node:diagnostics_channel";\n${bundleOf(`
  const line = "w".repeat(10_000_000);
  const publish = (type, payload) => channel("uncaged.workflow").publish({ type, stepID: "written", payload });
  publish("step_start", { type: line, meta: { title: line }, resolvedInputs: {} });
  publish("llm_tool_use", { tool_use_id: "1", name: line, input: {} });
  publish("llm_tool_result", { tool_use_id: "1", content: line, is_error: true });
  publish("llm_done", { model: line, usage: { input_tokens: 1 }, latency_ms: 1 });
  yield step("written", line, {});
  if (options.asks) yield step("__wait__", line, { for: "answer", expects: {} });
  throw new Error(line);
`).replace('"a test"', '"d".repeat(100_000)')}`;

const fits = async (page: Page) =>
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);

test("lines of 10 MB show in every field and widen no page", async () => {
  expect((await serving.add("lines", text)).status).toBeLessThan(300);
  const long = (letter: string) => letter.repeat(10_000_000);
  const start = (options: Record<string, unknown>) =>
    serving.host.start({
      ...{ workflow: "lines", prompt: long("p"), params: { long: long("q") }, options },
      ...{ env: {}, cwd: serving.folder },
    });
  const failed = await start({});
  const asking = await start({ asks: true });
  await serving.until(failed.threadId, "failed");
  await serving.until(asking.threadId, "waiting");
  for (const width of [1280, 380]) {
    const page = await open(serving, "/", { width });
    const go = (path: string) => page.goto(`http://127.0.0.1:${serving.port}${path}`);
    await page.locator("[data-index='1']").waitFor();
    await fits(page);
    for (const id of [failed.threadId, asking.threadId]) {
      for (const view of ["trace", "graph", "state", "events"]) {
        await go(`/threads/${id}?view=${view}`);
        await page.getByRole("tabpanel").getByText(/w{9}/).first().waitFor({ state: "attached" });
        await fits(page);
      }
    }
    await go("/inbox");
    await page.getByText(/w{9}/).first().waitFor();
    await fits(page);
    await go("/workflows/lines");
    await page.getByText(/d{9}/).first().waitFor();
    await fits(page);
    await page.close();
  }
}, 600_000);
