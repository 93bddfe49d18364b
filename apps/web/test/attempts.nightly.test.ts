import { beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { keepPicture, open, useConsole } from "./browser.ts";

const serving = useConsole();

beforeAll(async () => {
  expect((await serving.add("parallel", parallel, "parallel.ts")).ok).toBe(true);
  expect((await serving.add("team", team, "team.ts")).ok).toBe(true);
  expect((await serving.add("flow", JSON.stringify(flow), "flow.json")).ok).toBe(true);
}, 600_000);

/** Four of one role stream at once until the file `go` is there. */
const parallel = `import { channel } from "node:diagnostics_channel";
import { existsSync } from "node:fs";
import { durable } from "@uncaged/workflow";
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const publish = (type: string, payload: object) =>
  channel("uncaged.workflow").publish({ type, stepID: "shot", payload });
export const descriptor = { description: "four at once", roles: {} };
export const run = durable(async function* (step, { params }) {
  const shot = (number: number) =>
    step("shot", async () => {
      publish("step_start", { type: "LLM", resolvedInputs: { number } });
      for (let word = 0; word < 10; word += 1) {
        publish("llm_token", { delta: "w" + number + "-" + word + " " });
        await sleep(10 + 10 * number);
        while (word === 5 && !existsSync(params.go)) await sleep(20);
      }
      return "shot " + number;
    });
  yield* step.all([3, 2, 1, 0].map(shot));
  return "done";
});
`;

/** A lead that calls a reader and a writer, which calls a checker. */
const team = `import { channel } from "node:diagnostics_channel";
import { durable } from "@uncaged/workflow";
const publish = (type: string, payload: object) =>
  channel("uncaged.workflow").publish({ type, stepID: "team", payload });
export const descriptor = { description: "a team", roles: {} };
export const run = durable(async function* (step) {
  yield* step("lead", async ({ attempts }) => {
    const call = async (role: string, work = async () => {}) => {
      const attempt = attempts!.open({ role });
      await attempt.run(async () => {
        publish("llm_token", { delta: role + " answers" });
        await work();
      });
      if (role === "checker") attempt.end("failed", new Error("it is not fine"));
      else attempt.end("committed");
    };
    await Promise.all([call("reader"), call("writer", () => call("checker"))]);
    return "led";
  });
  yield* step("end", () => "over");
  throw new Error("nothing to ship");
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

test("four of one role that stream at once have a card each, with its own text and inputs", async () => {
  const go = join(serving.folder, "go");
  const { threadId: id } = await serving.ok<{ threadId: string }>("/api/threads", {
    workflow: "parallel",
    params: { go },
  });
  const page = await open(serving, `/threads/${id}`);
  const running = page.getByRole("article", { name: "Running: shot" });
  await running.nth(3).waitFor();
  for (const text of await texts(page, /^Running: shot/)) {
    expect(new Set(text.match(/w\d(?=-)/g)).size).toBe(1);
  }
  serving.write("go", "");
  await serving.until(id, "completed");
  for (const number of [0, 1, 2, 3]) {
    const card = page.getByRole("article", { name: `Step ${number + 1}: shot` });
    await card.getByText(wordsOf(number)).waitFor();
    await card.getByRole("button", { name: /^Inputs/ }).click();
    expect(await card.innerText()).toContain(`number\n${number}`);
  }
}, 600_000);

test("each iteration has its own inputs, and what was skipped, or ended by a Stop, is not at work", async () => {
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
  await page.getByRole("article", { name: "Done: Branch_B" }).waitFor();
  expect(await page.getByRole("article", { name: /^Running/ }).count()).toBe(0);
  await page.getByRole("tab", { name: "Graph" }).click();
  const node = (name: string) => page.getByRole("figure").getByRole("button", { name });
  await node("Set_Left skipped").waitFor();
  await node("Branch_B done").waitFor();
  await node("Set_Out 4 times done").waitFor();
}, 600_000);

test("what an attempt has called stands below it, and further in", async () => {
  const id = await serving.run("team");
  await serving.until(id, "failed");
  const page = await open(serving, `/threads/${id}`);
  await page.getByRole("article", { name: "Step 2: end" }).waitFor();
  const cards = await page.getByRole("article").all();
  const shown = await Promise.all(
    cards.map(async (card) => {
      const name = (await card.getAttribute("aria-label")) ?? "";
      return { name, left: (await card.boundingBox())?.x ?? 0 };
    }),
  );
  expect(shown.map(({ name }) => name)).toEqual([
    ...["Step 1: lead", "Done: reader", "Done: writer", "Failed: checker", "Step 2: end"],
  ]);
  const [lead = 0, reader = 0, writer = 0, checker = 0, end] = shown.map(({ left }) => left);
  expect([reader > lead, writer === reader, checker > writer, end === lead]).toEqual([
    ...[true, true, true, true],
  ]);
  // Its caller went on: the thread did not fail there.
  const inCards = page.getByRole("article").getByRole("button", { name: "Rerun from here…" });
  expect(await inCards.count()).toBe(0);
  await keepPicture(page, "team");
}, 600_000);
