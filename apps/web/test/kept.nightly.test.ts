import { afterAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { anthropicServer } from "../../../packages/workflow-agents/test/anthropic-server.ts";
import { open, useConsoleProcess } from "./browser.ts";
import { stepRow } from "./trace.ts";

/* Unsent text: keys of an input method do not send the text, and Escape and a reload keep it. */

const model = await anthropicServer(() => ({
  tools: [{ name: "ask_question", input: { question: "Which ones?" } }],
}));
afterAll(async () => await model.stop(), 60_000);

const serving = useConsoleProcess("counter", "asker");
serving.more = {
  ...serving.more,
  ANTHROPIC_API_KEY: model.key,
  ANTHROPIC_BASE_URL: model.url,
};

/** Presses Enter with the key event that a browser sends while an input method offers a suggestion. */
const takeSuggestion = (page: Page, label: string, event: object) =>
  page.getByLabel(label).evaluate((field, init) => {
    const options = { key: "Enter", bubbles: true, cancelable: true, ...init };
    field.dispatchEvent(new KeyboardEvent("keydown", options));
  }, event);

test("Enter that accepts a suggestion does not send, and a text for the planner survives a reload", async () => {
  const page = await open(serving, "/plans/new");
  const label = "What do you want done, and when?";
  const field = page.getByLabel(label);
  await field.fill("毎朝");
  // Safari reports the key after the composition, as 229.
  await takeSuggestion(page, label, { keyCode: 229 });
  await takeSuggestion(page, label, { isComposing: true, keyCode: 13 });
  await page.reload();
  expect(await field.inputValue()).toBe("毎朝");
  expect(model.came.length).toBe(0);
  await takeSuggestion(page, label, { keyCode: 13 });
  await page.getByText("Which ones?").waitFor();
  expect(model.came.length).toBeGreaterThan(0);
  await page.goto(`http://127.0.0.1:${serving.port}/plans/new`);
  expect(await field.inputValue()).toBe("");
}, 600_000);

test("the input of a start survives Escape and a reload until it is sent", async () => {
  const page = await open(serving);
  await page.getByRole("button", { name: "Start" }).click();
  await page.getByRole("dialog").getByLabel("Workflow").selectOption("counter");
  const [prompt, params] = [page.getByLabel("Prompt"), page.getByLabel("Params (optional)")];
  await prompt.fill("count to three");
  await params.fill('{"count": 3}');
  await page.getByLabel("Max rounds").fill("7");
  const isKept = async () => {
    expect(await prompt.inputValue()).toBe("count to three");
    expect(await params.inputValue()).toBe('{"count": 3}');
    expect(await page.getByLabel("Max rounds").inputValue()).toBe("7");
  };
  await page.keyboard.press("Escape");
  await prompt.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Start" }).click();
  await isKept();
  await page.reload();
  if (!(await prompt.isVisible()))
    await page.goto(`http://127.0.0.1:${serving.port}/?start=counter`);
  await prompt.waitFor();
  await isKept();
  await params.fill('{"count": 9007199254740993}');
  await page.getByRole("dialog").getByRole("button", { name: "Start" }).click();
  await page.getByText("The number 9007199254740993 can't be kept exactly").waitFor();
  await params.fill("");
  await page.getByRole("dialog").getByRole("button", { name: "Start" }).click();
  await stepRow(page, 3, "count").waitFor();
  await page.goto(`http://127.0.0.1:${serving.port}/?start=counter`);
  expect(await prompt.inputValue()).toBe("");
}, 600_000);

test("answers typed in the inbox survive Escape and a reload, each for its question", async () => {
  const ids = [
    await serving.run("asker"),
    await serving.run("asker"),
    await serving.run("asker", { wait: { for: "tool", tool: "deploy", input: { n: 1 } } }),
  ];
  const page = await open(serving, `/inbox?item=${ids[2]}.1`);
  const show = (at: number) =>
    page.goto(`http://127.0.0.1:${serving.port}/inbox?item=${ids[at]}.1`);
  const answer = page.getByLabel("Your answer");
  const reason = page.getByLabel("Reason for a rejection");
  await reason.fill("not on a Friday");
  await page.getByRole("button", { name: "Edit" }).click();
  const input = page.getByLabel("Input instead of the model's");
  await input.fill('{"n": 2}');
  await show(0);
  await answer.fill("the first");
  await show(1);
  await answer.fill("the second");
  await page.keyboard.press("Escape");
  await page.reload();
  expect(await answer.inputValue()).toBe("the second");
  await show(0);
  expect(await answer.inputValue()).toBe("the first");
  await show(2);
  expect(await input.inputValue()).toBe('{"n": 2}');
  await page.getByRole("button", { name: "Cancel" }).click();
  expect(await reason.inputValue()).toBe("not on a Friday");
  await page.goto(`http://127.0.0.1:${serving.port}/threads/${ids[1]}`);
  await page.getByLabel("Your answer").waitFor();
  expect(await page.getByLabel("Your answer").inputValue()).toBe("the second");
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  await page.getByRole("article", { name: "Details of heard" }).waitFor();
}, 600_000);
