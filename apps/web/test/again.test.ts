import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { bundleOf } from "../../../packages/workflow/test/fixtures/bundles.ts";
import { Serving, stopServing } from "../../server/test/serving.ts";
import { closePages, open, useBrowser } from "./browser.ts";
import { buildConsole } from "./built.ts";

let serving: Serving;

useBrowser();
beforeAll(async () => {
  await buildConsole();
  serving = await Serving.start("counter");
  await serving.add("sum", JSON.stringify(sum), "sum.json");
  await serving.add("shaky", shaky);
}, 120_000);
afterAll(stopServing, 60_000);
afterEach(async () => {
  expect(await closePages()).toEqual([]);
});

const sum = {
  version: "3.18",
  name: "Sum",
  registry: { vars: ["$a(INT) = 1", "$sum(INT) = 0"] },
  steps: [
    { id: "Set_A", target: "$a", value: 2, next: "Set_Sum" },
    { id: "Set_Sum", target: "$sum", value: "=$a + 10", next: "Stop_End" },
    { id: "Stop_End", reason: "='the sum is ' + $sum" },
  ],
};

/** Fails at its second step until the file `mended` is there. */
const shaky = `import { existsSync } from "node:fs";
${bundleOf(`
  if (input.steps.length === 0) yield step("first", "kept");
  if (!existsSync(options.mended)) throw new Error("not mended yet");
  yield step("second", "mended");
`)}`;

const idOf = (page: Page): string => /\/threads\/(\w+)/.exec(page.url())?.[1] ?? "";

test("a step is run again from its card with another value of a variable", async () => {
  const id = await serving.run("sum");
  await serving.until(id, "completed");
  const page = await open(serving, `/threads/${id}`);
  await page.getByText("the sum is 12").first().waitFor();
  await page.getByRole("button", { name: "Rerun from here, step 2" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("It goes on with Set_Sum").waitFor();
  await dialog.getByRole("button", { name: "Edit $a" }).click();
  const value = dialog.getByLabel("$a as JSON");
  expect(await value.inputValue()).toBe("2");
  await value.fill("30");
  await dialog.getByRole("button", { name: "Rerun" }).click();
  await page.waitForURL((url) => !url.href.includes(id));
  await page.getByText("the sum is 40").first().waitFor();
  const again = await serving.until(idOf(page), "completed");
  expect(again.forkFrom).toEqual({ threadId: id, steps: 1 });
}, 60_000);

test("what failed is taken up again by a retry", async () => {
  const mended = `${serving.folder}/mended`;
  const id = await serving.run("shaky", { mended });
  await serving.until(id, "failed");
  const page = await open(serving, `/threads/${id}`);
  await page.getByText("not mended yet").first().waitFor();
  serving.write("mended", "");
  await page.getByRole("button", { name: "Retry" }).first().click();
  await page.waitForURL((url) => !url.href.includes(id));
  await page.getByText("mended", { exact: true }).first().waitFor();
  const retried = await serving.until(idOf(page), "completed");
  expect(retried.forkFrom).toEqual({ threadId: id, steps: 1 });
}, 60_000);

test("a thread is deleted when that was confirmed", async () => {
  const id = await serving.run("counter");
  await serving.until(id, "completed");
  const page = await open(serving, `/threads/${id}`);
  await page.getByRole("button", { name: "More to do" }).click();
  await page.getByRole("menuitem", { name: /Delete/ }).click();
  const confirm = page.getByRole("dialog");
  await confirm.getByRole("button", { name: "Cancel" }).click();
  await confirm.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "More to do" }).click();
  await page.getByRole("menuitem", { name: /Delete/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByRole("heading", { name: "Threads" }).waitFor();
  expect((await serving.fetch(`/api/threads/${id}`)).status).toBe(404);
}, 60_000);

test("a browser's own EventSource follows a run as the API is documented", async () => {
  const id = await serving.run("sum");
  const page = await open(serving);
  const told = await page.evaluate(
    (runID) =>
      new Promise<string[]>((resolve) => {
        const seen: string[] = [];
        const source = new EventSource(`/workflow/${runID}/events`);
        for (const type of ["workflow_start", "step_start", "step_done", "workflow_done"]) {
          source.addEventListener(type, ({ data }: MessageEvent<string>) => {
            const { stepID } = JSON.parse(data) as { stepID: string | null };
            seen.push(`${type} ${stepID}`);
            if (type !== "workflow_done") return;
            source.close();
            resolve(seen);
          });
        }
      }),
    id,
  );
  expect(told).toEqual([
    "workflow_start null",
    ...["Set_A", "Set_Sum", "Stop_End"].flatMap((step) => [
      `step_start ${step}`,
      `step_done ${step}`,
    ]),
    "workflow_done null",
  ]);
}, 60_000);
