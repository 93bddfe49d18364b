import { beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { bundleOf } from "../../../packages/workflow/test/fixtures/bundles.ts";
import { open, useConsole } from "./browser.ts";

const long = "w".repeat(500);
const nasty = `<script>window.ran = 1</script> <img src="x" onerror="window.ran = 2"> ${long}

[here](javascript:window.ran=3) ![there](http://example.org/there.png) \u202E \u0000 \uD800`;

const hostile = `import { channel } from "node:diagnostics_channel";
${bundleOf(`
  const nasty = ${JSON.stringify(nasty)};
  const publish = (type, payload) => channel("uncaged.workflow").publish({ type, stepID: "written", payload });
  const values = JSON.parse('{"__proto__": 1, "constructor": 2, "-": -0, "e": 1e21}');
  for (const type of ["__proto__", "__defineGetter__"]) publish(type, values);
  publish("step_start", { type: nasty, meta: { title: nasty }, resolvedInputs: { ...values, nasty } });
  publish("llm_tool_use", { tool_use_id: "1", name: nasty, input: values });
  publish("llm_tool_result", { tool_use_id: "1", content: nasty, is_error: true });
  publish("llm_token", { delta: nasty });
  publish("llm_done", { model: nasty, usage: { input_tokens: 1e21, constructor: 1 }, latency_ms: 1e15 });
  yield step("written", nasty, { nasty });
  yield step("deep", "[".repeat(50_000) + "]".repeat(50_000), { deep: JSON.parse("[".repeat(900) + "]".repeat(900)) });
  yield step("quoted", "> ".repeat(1_000) + "*a_ ".repeat(10_000), { usage: { input_tokens: 1 } });
  yield step(${JSON.stringify(long)});
  throw new Error(nasty);
`).replace("a test", long)}`;

const odd = {
  type: "object",
  required: ["toString"],
  properties: { constructor: { type: "string" }, toString: { type: "integer" } },
};
const oddForm = bundleOf('yield step("reported", String(options.toString));').replace(
  "roles: {}",
  `roles: {}, input: ${JSON.stringify(odd)}`,
);

const serving = useConsole();

beforeAll(async () => {
  await serving.add("hostile", hostile);
  await serving.add("odd", oddForm);
}, 600_000);

const tooWide = (page: Page): Promise<number> =>
  page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

test("what a hostile model writes is shown as text: it runs nothing, loads nothing, widens no page", async () => {
  const id = await serving.run("hostile");
  await serving.until(id, "failed");
  for (const width of [1280, 380]) {
    const page = await open(serving, `/threads/${id}`, { width });
    const foreign: string[] = [];
    page.on("request", (request) => foreign.push(request.url()));
    const rerun = page.getByRole("button", { name: "Rerun from here, step 1", exact: true });
    await rerun.waitFor();
    const right = await rerun.evaluate((button) => button.getBoundingClientRect().right);
    expect(right).toBeLessThan(width);
    for (let steps = 0; steps < 4; steps += 1) {
      await page.keyboard.press("j");
      // The focus moves a frame after the key.
      await page.locator(`[data-index="${steps}"] article:focus`).waitFor();
      const closed = page.locator("article:focus-within [aria-expanded=false]");
      for (let left = await closed.count(); left > 0; left -= 1) await closed.first().click();
      const whole = page.locator("article:focus-within").getByRole("button", { name: /^Show all/ });
      for (let left = await whole.count(); left > 0; left -= 1) await whole.first().click();
      expect(await tooWide(page)).toBe(0);
    }
    for (const view of ["Graph", "Timeline"]) {
      await page.getByRole("tab", { name: view }).click();
      await page
        .getByRole("tabpanel")
        .getByText(/^quoted$/)
        .first()
        .waitFor();
      expect(await tooWide(page)).toBe(0);
    }
    await page.getByRole("heading", { level: 1 }).getByRole("link").click();
    await page.getByText(long).first().waitFor();
    expect(await tooWide(page)).toBe(0);
    expect(await page.evaluate(() => "ran" in globalThis)).toBe(false);
    expect(foreign.filter((url) => !url.startsWith(`http://127.0.0.1:${serving.port}/`))).toEqual(
      [],
    );
  }
}, 600_000);

test("a form with fields of any name goes to what is missing, and a double click starts one thread", async () => {
  const page = await open(serving, "/?start=odd");
  const field = page.getByLabel("toString", { exact: true });
  await field.waitFor();
  const start = page.getByRole("dialog").getByRole("button", { name: "Start" });
  await start.click();
  await page.getByText("This must be filled in.").waitFor();
  expect(await field.evaluate((input) => input === document.activeElement)).toBe(true);
  await field.fill("7");
  await start.dblclick();
  await page.getByRole("article", { name: "Step 1: reported" }).waitFor();
  const threads = await serving.ok<unknown[]>("/api/threads?workflow=odd");
  expect(threads).toHaveLength(1);
}, 600_000);
