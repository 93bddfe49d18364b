import { beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { bundleOf } from "../../../packages/workflow/test/fixtures/bundles.ts";
import {
  endLine,
  logOf,
  startLine,
  stepLine,
} from "../../../packages/workflow/test/fixtures/records.ts";
import { withMoreTime } from "../../../packages/workflow/test/fixtures/until.ts";
import { open, useConsole } from "./browser.ts";

const serving = useConsole("counter", "endless");

beforeAll(async () => {
  await serving.add("greeter", greeter);
  await serving.add("chooser", chooser);
  await serving.add("writer", writer);
}, 600_000);

/** Its descriptor has an input, from which the form is made. */
const greeter = bundleOf(`
  for (const name of [input.params.name, "all"]) {
    await sleep(300);
    yield step("greet", input.params.loud ? "HELLO " + name : "hello " + name, { name });
  }
`).replace(
  "roles: {} }",
  `roles: {}, input: { type: "object", required: ["name"], properties: {
    name: { type: "string", title: "Name" }, loud: { type: "boolean", title: "Loud" } } } }`,
);

/** Each step repeats what the one before decided, so that an edit shows. */
const chooser = bundleOf(`
  let before = input.steps.at(-1)?.meta.choice ?? "none";
  for (let n = input.steps.length; n < 3; n += 1) {
    yield step("choose", "after " + before, { choice: "tea" });
    before = "tea";
  }
`);

/** Speaks as a model does, and waits for the file \`go\` between two words. */
const writer = `import { channel } from "node:diagnostics_channel";
import { existsSync } from "node:fs";
${bundleOf(`
  const publish = (type, payload) => channel("uncaged.workflow").publish({ type, stepID: "write", payload });
  publish("step_start", { type: "Role", meta: { title: "Write" }, resolvedInputs: { topic: "tea" } });
  publish("llm_thinking", { delta: "What do they want?" });
  publish("llm_token", { delta: "The first words" });
  while (!existsSync(options.go)) await sleep(20);
  publish("llm_token", { delta: ", and the last" });
  publish("llm_done", { model: "m", usage: { input_tokens: 100, output_tokens: 20 }, latency_ms: 5 });
  yield step("write", "The first words, and the last", { done: true });
`)}`;

const status = (page: Page, word: string) =>
  page.locator("main header, main").getByText(word, { exact: true }).first().waitFor();

const idOf = (page: Page): string => /\/threads\/(\w+)/.exec(page.url())?.[1] ?? "";

async function begin(page: Page, workflow: string): Promise<void> {
  await page.getByRole("button", { name: "Start", exact: true }).first().click();
  await page.getByRole("dialog").getByLabel("Workflow").selectOption(workflow);
}

test("a thread is started by a form made from the workflow's schema, and its steps appear as they are committed", async () => {
  const page = await open(serving);
  await begin(page, "greeter");
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").waitFor();
  await dialog.getByRole("button", { name: "Start" }).click();
  await dialog.getByText("This must be filled in.").waitFor();
  await dialog.getByLabel("Name").fill("Ada");
  await dialog.getByLabel("Loud").check();
  await dialog.getByRole("button", { name: "Start" }).click();
  await page.waitForURL(/\/threads\/\w+/);
  await page.getByText("HELLO Ada").waitFor();
  await page.getByText("HELLO all").waitFor();
  await status(page, "completed");
  const thread = await serving.until(idOf(page), "completed");
  expect(thread.steps.map(({ content }) => content)).toEqual(["HELLO Ada", "HELLO all"]);
}, 600_000);

test("what a model writes is seen while it streams", async () => {
  const go = `${serving.folder}/go`;
  const id = await serving.run("writer", { go });
  const page = await open(serving, `/threads/${id}`);
  await page.getByText("The first words").waitFor();
  expect(await page.getByText("and the last").count()).toBe(0);
  serving.write("go", "");
  await page.getByText("The first words, and the last").first().waitFor();
  await status(page, "completed");
}, 600_000);

test("a running thread is paused, resumed and killed", async () => {
  const id = await serving.run("endless", { delayMs: 100 });
  const page = await open(serving, `/threads/${id}`);
  await page
    .getByRole("article", { name: /^Step (1[2-9]|[2-9]\d|\d{3,}):/ })
    .first()
    .waitFor();
  // The page is at its end, and the controls are in sight all the same.
  const pause = await page.getByRole("button", { name: "Pause" }).boundingBox();
  expect(pause?.y).toBeGreaterThan(0);
  await page.getByRole("button", { name: "Pause" }).click();
  await status(page, "paused");
  const { stepCount } = await serving.until(id, "paused");
  await page.getByRole("button", { name: "Resume" }).click();
  await status(page, "running");
  await serving.until(id, "running", stepCount + 3);
  await page.getByRole("button", { name: "Kill" }).click();
  const confirm = page.getByRole("dialog");
  await confirm.getByRole("button", { name: "Kill" }).click();
  await status(page, "killed");
  await serving.until(id, "killed");
}, 600_000);

test("a question is answered, and the thread goes on", async () => {
  await serving.add(
    "asker",
    bundleOf(`
      let answer = input.steps.find(({ role }) => role === "__input__");
      if (!answer) answer = yield step("__wait__", "May I publish?", { for: "approval", schema: { type: "boolean" } });
      yield step("reported", answer.meta.value === true ? "published" : "held back");
    `),
  );
  const id = await serving.run("asker");
  const page = await open(serving, `/threads/${id}`);
  await page.getByText("May I publish?").waitFor();
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByText("published", { exact: true }).waitFor();
  await serving.until(id, "completed");
}, 600_000);

test("a thread that sleeps shows until when, asks nothing, and continues although its worker was killed", async () => {
  await serving.add(
    "sleeper",
    bundleOf(`
      const meta = { for: "sleep", sleep: true, expiresAt: Date.now() + options.ms };
      if (!input.steps.some(({ role }) => role === "__input__")) yield step("__wait__", "sleeping", meta);
      yield step("reported", "slept well");
    `),
  );
  const long = await serving.run("sleeper", { ms: 3_600_000 });
  await serving.until(long, "waiting");
  const short = await withMoreTime(3_000, async (ms) => {
    const id = await serving.run("sleeper", { ms });
    const { threadId } = await serving.until(id, "waiting");
    await serving.killWorkers();
    expect((await serving.ok<{ status: string }>(`/api/threads/${id}`)).status).toBe("waiting");
    return threadId;
  });
  const page = await open(serving);
  const row = page.getByRole("row").filter({ hasText: long });
  await row.getByText("sleeping", { exact: true }).waitFor();
  await row.getByText(/wakes in 5\d m/).waitFor();
  await page.getByRole("link", { name: long }).click();
  await page.getByRole("article", { name: "Step 1: Sleep" }).waitFor();
  await page
    .getByRole("timer")
    .getByText(/continues in 5\d m/)
    .waitFor();
  expect(await page.getByRole("button", { name: /^(Answer|Go to question)$/ }).count()).toBe(0);
  expect(await page.getByRole("textbox").count()).toBe(0);
  await page.goto(`http://127.0.0.1:${serving.port}/threads/${short}`);
  await page.getByText("slept well").waitFor();
  await page.getByRole("article", { name: "Step 2: Woken" }).waitFor();
  await status(page, "completed");
  await page.getByRole("tab", { name: "Timeline" }).click();
  await page.getByRole("group", { name: /^Sleep: 1 sleep, / }).waitFor();
  await serving.ok(`/api/threads/${long}/kill`, { force: true });
}, 600_000);

test("a fork from a card goes on with the edited value, and the two are compared", async () => {
  const id = await serving.run("chooser");
  await serving.until(id, "completed");
  const page = await open(serving, `/threads/${id}`);
  await page.getByRole("button", { name: "Fork from here, after step 1" }).click();
  const dialog = page.getByRole("dialog");
  const meta = dialog.getByLabel(/^Meta of step 1/);
  await meta.fill('{ "choice": ');
  await dialog.getByText(/no JSON/).waitFor();
  expect(await dialog.getByRole("button", { name: "Fork" }).isDisabled()).toBe(true);
  await meta.fill('{ "choice": "coffee" }');
  await dialog.getByRole("button", { name: "Fork" }).click();
  await page.waitForURL((url) => !url.href.includes(id));
  await page.getByText("after coffee").waitFor();
  const fork = await serving.until(idOf(page), "completed");
  expect(fork.forkFrom).toEqual({ threadId: id, steps: 1 });

  await page.getByRole("button", { name: "More to do" }).click();
  await page.getByRole("menuitem", { name: /Compare/ }).click();
  const other = page.getByRole("dialog").getByLabel("The other thread");
  expect(await other.inputValue()).toBe(id);
  await page.getByRole("dialog").getByRole("button", { name: "Compare" }).click();
  await page.getByText(/They differ from the first step on; 2 steps differ/).waitFor();
  const second = page.getByRole("region", { name: "Step 2" });
  expect(await second.locator("mark").allTextContents()).toEqual(["coffee", "tea"]);
  await page.getByText("Step 3 is the same").waitFor();
}, 600_000);

test("a thread of 5,000 steps shows few cards at a time, its first and its last", async () => {
  const { hash, threadId: id } = JSON.parse(startLine) as { hash: string; threadId: string };
  const steps = Array.from({ length: 5_000 }, (_, at) => stepLine(String(at)));
  serving.write(`root/logs/${hash}/${id}.data.jsonl`, String(logOf(startLine, ...steps, endLine)));
  const page = await open(serving, `/threads/${id}?step=5000`);
  await page.getByRole("article", { name: "Step 5000: count" }).waitFor();
  expect(await page.getByRole("article").count()).toBeLessThan(60);
  await page.goto(`http://127.0.0.1:${serving.port}/threads/${id}`);
  await page.getByRole("article", { name: "Step 1: count" }).waitFor();
  await page.keyboard.press("j");
  await page.locator('article[aria-label="Step 1: count"]:focus').waitFor();
  await page.keyboard.press("End");
  await page.getByRole("article", { name: "Step 5000: count" }).waitFor();
}, 600_000);
