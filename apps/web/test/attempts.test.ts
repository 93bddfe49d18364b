import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { Serving, stopServing } from "../../server/test/serving.ts";
import { closePages, open, useBrowser } from "./browser.ts";
import { buildConsole } from "./built.ts";

let serving: Serving;

useBrowser();
beforeAll(async () => {
  await buildConsole();
  serving = await Serving.start("counter");
  expect((await serving.add("parallel", parallel, "parallel.ts")).ok).toBe(true);
  expect((await serving.add("flow", JSON.stringify(flow), "flow.json")).ok).toBe(true);
}, 120_000);
afterAll(stopServing, 60_000);
afterEach(async () => {
  expect(await closePages()).toEqual([]);
});

/** Four of one role stream at once; the longest ends last, and the next step comes after a pause. */
const parallel = `import { channel } from "node:diagnostics_channel";
import { durable } from "@uncaged/workflow";
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const publish = (type: string, payload: object) =>
  channel("uncaged.workflow").publish({ type, stepID: "shot", payload });
export const descriptor = { description: "four at once", roles: {} };
export const run = durable(async function* (step) {
  const shot = (number: number) =>
    step("shot", async () => {
      publish("step_start", { type: "LLM", resolvedInputs: { number } });
      for (let word = 0; word < 10; word += 1) {
        publish("llm_token", { delta: "w" + number + "-" + word + " " });
        await sleep(400 + 60 * number);
      }
      return "shot " + number;
    });
  yield* step.all([3, 2, 1, 0].map(shot));
  return "done";
});
`;

/** Four iterations at once, a step that its `if` leaves out, and a Branch that a Stop ends. */
const flow = {
  version: "3.18",
  name: "flow",
  registry: { vars: ["$items(ARRAY) = [1,2,3,4]", "$out(ARRAY) = []", "$go(BOOL) = false"] },
  steps: [
    { id: "Loop_I", source: "=$items", mode: "parallel", children: ["Set_Out"], next: "Set_Left" },
    { id: "Set_Out", target: "$out[_index]", value: "=_item * 10", next: "RETURN" },
    { id: "Set_Left", if: "=$go", target: "$go", value: true, next: "Branch_B" },
    { id: "Branch_B", cases: [["ELSE", "Stop_End"]], next: "RETURN" },
    { id: "Stop_End", reason: "done" },
  ],
};

const wordsOf = (number: number) =>
  Array.from({ length: 10 }, (_, word) => `w${number}-${word}`).join(" ");

const texts = (page: Page, name: RegExp) => page.getByRole("article", { name }).allInnerTexts();

test("four of one role that stream at once have a card each, with its own text, inputs and duration", async () => {
  const id = await serving.run("parallel");
  const page = await open(serving, `/threads/${id}`);
  const running = page.getByRole("article", { name: "Running: shot" });
  await running.nth(3).waitFor();
  for (const text of await texts(page, /^Running: shot/)) {
    expect(new Set(text.match(/w\d(?=-)/g)).size).toBe(1);
  }
  await serving.until(id, "completed");
  for (const number of [0, 1, 2, 3]) {
    const card = page.getByRole("article", { name: `Step ${number + 1}: shot` });
    await card.getByText(wordsOf(number)).waitFor();
    await card.getByRole("button", { name: /^Inputs/ }).click();
    expect(await card.innerText()).toContain(`number\n${number}`);
  }

  // Each ran from the start of all to its own end: 4.0, 4.6, 5.2 and 5.8 seconds, and no less.
  await page.getByRole("tab", { name: "Timeline" }).click();
  await page.getByRole("group", { name: /^shot: 4 attempts/ }).waitFor();
  for (const [index, least] of [4_000, 4_600, 5_200, 5_800].entries()) {
    const name = new RegExp(`^Step ${index + 1}: `);
    const bar = await page.getByRole("button", { name }).getAttribute("aria-label");
    expect(Number(/([\d.]+) s/.exec(bar ?? "")?.[1]) * 1_000).toBeGreaterThanOrEqual(least - 100);
  }
}, 60_000);

test("each iteration has its own inputs, and what was skipped or cancelled is not at work", async () => {
  const id = await serving.run("flow");
  await serving.until(id, "completed");
  const page = await open(serving, `/threads/${id}`);
  for (const index of [0, 1, 2, 3]) {
    const card = page.getByRole("article", { name: /: Set_Out$/ }).filter({
      hasText: `Loop_I #${index + 1}`,
    });
    await card.getByRole("button", { name: /^Inputs/ }).click();
    await card
      .getByText(String((index + 1) * 10), { exact: true })
      .first()
      .waitFor();
  }
  await page.getByRole("article", { name: "Skipped: Set_Left" }).waitFor();
  await page.getByRole("article", { name: "Cancelled: Branch_B" }).waitFor();
  expect(await page.getByRole("article", { name: /^Running/ }).count()).toBe(0);
  await page.getByRole("tab", { name: "Graph" }).click();
  const node = (name: string) => page.getByRole("figure").getByRole("button", { name });
  await node("Set_Left skipped").waitFor();
  await node("Branch_B cancelled").waitFor();
  await node("Set_Out 4 times done").waitFor();
}, 60_000);

test("time in which a thread is paused is in no attempt", async () => {
  const id = await serving.run("counter", { delayMs: 150, count: 20 });
  const page = await open(serving, `/threads/${id}`);
  await page.getByRole("article", { name: /^Step 2:/ }).waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("button", { name: "Resume" }).waitFor();
  const { stepCount } = await serving.until(id, "paused");
  await Bun.sleep(2_000);
  await page.getByRole("button", { name: "Resume" }).click();
  const next = page.getByRole("article", { name: `Step ${stepCount + 1}:` });
  await next.waitFor();
  expect(await next.innerText()).toMatch(/\b\d+ ms\b/);
}, 60_000);
