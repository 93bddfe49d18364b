import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { Workflow } from "@uncaged/workflow-server/api-types";
import type { Page } from "playwright-core";
import { anthropicServer } from "../../../packages/workflow-agents/test/anthropic-server.ts";
import type { Reply } from "../../../packages/workflow-agents/test/wire.ts";
import { bundleOf } from "../../../packages/workflow/test/fixtures/bundles.ts";
import { open, useConsoleProcess } from "./browser.ts";
import * as graphHand from "./graph-hand.ts";
import { nodeOf, scriptedModel, statusIs } from "./graph-runs.ts";
import { keyboard } from "./hand.ts";
import * as stepsHand from "./steps-hand.ts";
import { detailsOf } from "./trace.ts";
import { violationsOf } from "./violations.ts";

/* The ten main tasks of the console on one server. Other tests are in `*.nightly.test.ts`. */

const serving = useConsoleProcess("counter");
const graphModel = await scriptedModel(serving);
const replies: Reply[] = [];
const planModel = await anthropicServer(() => replies.shift() ?? { text: "?" });
Object.assign(serving.more, {
  ANTHROPIC_API_KEY: planModel.key,
  ANTHROPIC_BASE_URL: planModel.url,
  UNCAGED_PLAN_AGENT_COMMAND: join(
    import.meta.dir,
    "../../../packages/cli-workflow/test/agents/agent.sh",
  ),
  UNCAGED_PLAN_SANDBOX_MODE: "off",
});
afterAll(async () => {
  await Promise.all([graphModel.stop(), planModel.stop()]);
}, 60_000);

/** A workflow whose descriptor has an input for the start form. */
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

/** Each step repeats the previous decision, so that an edit is visible. */
const chooser = bundleOf(`
  let before = input.steps.at(-1)?.meta.choice ?? "none";
  for (let n = input.steps.length; n < 3; n += 1) {
    yield step("choose", "after " + before, { choice: "tea" });
    before = "tea";
  }
`);

/** Publishes model events, and waits for the file \`go\` between two words. */
const writer = `import { channel } from "node:diagnostics_channel";
import { existsSync } from "node:fs";
${bundleOf(`
  const publish = (type, payload) => channel("uncaged.workflow").publish({ type, stepID: "write", payload });
  publish("step_start", { type: "Role", meta: { title: "Write" }, resolvedInputs: { topic: "tea" } });
  publish("llm_thinking", { delta: "What do they want?" });
  publish("llm_token", { delta: "The first part" });
  while (!existsSync(options.go)) await sleep(20);
  publish("llm_token", { delta: ", and the last" });
  publish("llm_done", { model: "m", usage: { input_tokens: 100, output_tokens: 20 }, latency_ms: 5 });
  yield step("write", "The first part, and the last", { done: true });
`)}`;

const asker = bundleOf(`
  let answer = input.steps.find(({ role }) => role === "__input__");
  if (!answer) answer = yield step("__wait__", "May I?", { for: "approval", schema: { type: "boolean" } });
  yield step("reported", "you answered " + answer.meta.value);
`);

const editable = {
  version: "3.18",
  name: "sum",
  registry: { params: [], vars: ["$a(INT) = 2", "$sum(INT) = 0"] },
  steps: [
    { id: "Set_Sum", target: "$sum", value: "=$a + 10", next: "Stop_1" },
    { id: "Stop_1", reason: "='the sum is ' + $sum" },
  ],
};

const greet = (description: string, role = "greeter") => `type Input = { prompt: string };
export const descriptor = {
  description: "${description}",
  roles: { ${role}: { description: "greets", schema: true } },
};
export async function* run({ prompt }: Input) {
  yield { role: "${role}", content: prompt, meta: {} };
  return { returnCode: 0, summary: "" };
}
`;

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

beforeAll(async () => {
  for (const [name, text] of Object.entries({ greeter, chooser, writer, asker, hostile })) {
    expect(await (await serving.add(name, text)).text()).not.toContain("error");
  }
  await serving.add("sum", JSON.stringify(editable), "sum.json");
  for (const text of [greet("greets"), greet("greets all", "host")]) {
    await serving.add("greet", text, "greet.ts");
  }
}, 600_000);

const status = (page: Page, word: string) =>
  page.locator("main header, main").getByText(word, { exact: true }).first().waitFor();

const idOf = (page: Page): string => /\/threads\/(\w+)/.exec(page.url())?.[1] ?? "";

test("a thread is started by a form of the workflow's schema, and its steps appear as they are committed", async () => {
  const page = await open(serving);
  await page.getByRole("button", { name: "Start", exact: true }).first().click();
  await page.getByRole("dialog").getByLabel("Workflow").selectOption("greeter");
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").waitFor();
  await dialog.getByRole("button", { name: "Start" }).click();
  await dialog.getByText("This must be filled in.").waitFor();
  await dialog.getByLabel("Name").fill("Ada");
  await dialog.getByLabel("Loud").check();
  await dialog.getByRole("button", { name: "Start" }).click();
  await page.waitForURL(/\/threads\/\w+/);
  await page.getByText("HELLO Ada").first().waitFor();
  await page.getByText("HELLO all").first().waitFor();
  await status(page, "completed");
  const thread = await serving.until(idOf(page), "completed");
  expect(thread.steps.map(({ content }) => content)).toEqual(["HELLO Ada", "HELLO all"]);
}, 600_000);

test("the text of a model is visible while it streams", async () => {
  const go = `${serving.folder}/go`;
  const id = await serving.run("writer", { go });
  const page = await open(serving, `/threads/${id}`);
  await page.getByText("The first part").first().waitFor();
  expect(await page.getByText("and the last").count()).toBe(0);
  serving.write("go", "");
  await page.getByText("The first part, and the last").first().waitFor();
  await status(page, "completed");
}, 600_000);

test("a question is answered in the inbox, and the thread continues", async () => {
  const id = await serving.run("asker");
  await serving.until(id, "waiting");
  const page = await open(serving, "/inbox");
  const question = page.getByRole("region", { name: "Question: asker" });
  await question.getByText("May I?").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await question.getByRole("button", { name: "Approve" }).click();
  await question.waitFor({ state: "detached" });
  const { steps } = await serving.until(id, "completed");
  expect(steps.at(-1)?.content).toBe("you answered true");
}, 600_000);

test("a fork from a row continues with the edited value, and the two are compared", async () => {
  const id = await serving.run("chooser");
  await serving.until(id, "completed");
  const page = await open(serving, `/threads/${id}`);
  const step = await detailsOf(page, 1, "choose");
  await step.getByRole("button", { name: "Fork from here" }).click();
  const dialog = page.getByRole("dialog");
  const meta = dialog.getByLabel(/^Meta of step 1/);
  await meta.fill('{ "choice": ');
  await dialog.getByText(/Invalid JSON/).waitFor();
  expect(await dialog.getByRole("button", { name: "Fork" }).isDisabled()).toBe(true);
  await meta.fill('{ "choice": "coffee" }');
  await dialog.getByRole("button", { name: "Fork" }).click();
  await page.waitForURL((url) => !url.href.includes(id));
  await (await detailsOf(page, 2, "choose")).getByText("after coffee").first().waitFor();
  const fork = await serving.until(idOf(page), "completed");
  expect(fork.forkFrom).toEqual({ threadId: id, steps: 1 });

  await page.getByRole("button", { name: "Compare with original" }).click();
  await page.getByText(/They differ from the first step on; 2 steps differ/).waitFor();
  const second = page.getByRole("region", { name: "Step 2" });
  expect(await second.locator("mark").allTextContents()).toEqual(["tea", "coffee"]);
  await page.getByText("Step 3 is the same").waitFor();
}, 600_000);

test("a step workflow is edited, saved as a version and run", async () => {
  const page = await open(serving, "/editor/steps/sum", { width: 1600, height: 900 });
  const hand = stepsHand.byMouse(page);
  await hand.pick("Set_Sum");
  expect(await violationsOf(page)).toEqual([]);
  await hand.write(/^value/, "=$a + 5");
  await hand.press("button", /^Save/);
  await hand.press("button", "Save", page.getByRole("dialog"));
  await page.getByText("Saved as a version of sum").waitFor();
  await hand.press("button", "Run");
  await page
    .getByRole("region", { name: "The selected run" })
    .getByText("the sum is 7")
    .first()
    .waitFor();
  expect(await serving.ok<unknown[]>("/api/workflows/sum/history")).toHaveLength(2);
}, 600_000);

test("a graph is drawn, run and approved", async () => {
  const page = await open(serving, "/editor/graph", { width: 1440 });
  const hand = graphHand.byMouse(page);
  await nodeOf(page, "node_1").waitFor();
  await hand.add("Agent", "a", { x: 150, y: 120 });
  await hand.add("User Approval", "u", { x: 520, y: 120 });
  await hand.edit("node_2", () => hand.write(/^Name/, "Writer"));
  await hand.connect(["node_1", "output"], ["node_2", "input"]);
  await hand.connect(["node_2", "output"], ["node_3", "input"]);
  await hand.connect(["node_3", "reject"], ["node_2", "input"]);
  await hand.press("tab", "Run");
  await hand.write("Prompt", "Why is the sea salt?");
  await hand.press("button", "Run");
  await statusIs(page, "waiting");
  expect(await violationsOf(page)).toEqual([]);
  await page.reload();
  await hand.press("tab", "Run");
  await hand.press("button", "Approve");
  await statusIs(page, "completed");
}, 600_000);

test("a plan is made with the planner, confirmed and run", async () => {
  const page = await open(serving, "/plans/new");
  const hand = keyboard(page);
  const steps = [
    { id: "look", description: "do look", agent: "claude", inputs: {}, depends_on: [] },
  ];
  const failure_policy = { on_step_failure: "stop", max_retries: 0, retry_delay_ms: 0 };
  const input = {
    ...{ name: "Builds", description: "Which builds fail?", trigger: { type: "manual" } },
    ...{ steps, failure_policy },
  };
  replies.push({ text: "Here it is.", tools: [{ name: "create_workflow", input }] });
  await hand.write("What do you want done, and when?", "tell me which builds fail");
  await page.keyboard.press("Enter");
  await page
    .getByRole("region", { name: "To be confirmed", exact: true })
    .getByText("Runs only when you start it")
    .waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await hand.press("button", "Confirm and run");
  await page.waitForURL("**/plans/wf_*");
  await page.getByRole("heading", { level: 1 }).getByText("completed").waitFor();
  await page.getByRole("button", { name: /^look\b.*done$/ }).click();
  await page
    .getByRole("region", { name: "Steps", exact: true })
    .getByText("done: do look")
    .waitFor();
}, 600_000);

test("the changes of a version are shown, and the workflow is rolled back", async () => {
  const before = await serving.ok<Workflow>("/api/workflows/greet");
  const page = await open(serving, "/workflows");
  await page.getByRole("link", { name: "greet", exact: true }).click();
  const newest = page.getByRole("article", { name: `Version ${before.hash}` });
  await newest.getByRole("button", { name: "Diff" }).click();
  await newest.getByText(/role renamed: greeter/).waitFor();
  await newest.getByText("greets all").first().waitFor();
  await newest.getByRole("button", { name: /source changes/ }).click();
  const patch = newest.getByRole("region", { name: /^Changes in/ }).first();
  await patch.getByText('description: "greets all"').waitFor();

  const older = before.history.at(-1)?.hash ?? "";
  const first = page.getByRole("article", { name: `Version ${older}` });
  await first.getByRole("button", { name: "Roll back" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Roll back" }).click();
  await first.getByText("current", { exact: true }).waitFor();
  expect(await serving.ok<Workflow>("/api/workflows/greet")).toMatchObject({ hash: older });
  await newest.getByRole("button", { name: "Make it current" }).waitFor();
}, 600_000);

test("a thread is started, answered and left by keyboard alone", async () => {
  const page = await open(serving);
  await page.getByRole("heading", { name: "Threads" }).waitFor();
  await page.keyboard.press("n");
  await page.getByRole("dialog").getByLabel("Prompt").waitFor();
  const hand = keyboard(page);
  await hand.choose("Workflow", "asker");
  await hand.write("Prompt", "by keys");
  await hand.press("button", "Start", page.getByRole("dialog"));
  await page.getByText("May I?").first().waitFor();
  await hand.press("button", "Approve");
  await page.getByText("you answered true").first().waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("w");
  await page.getByRole("heading", { name: "Workflows" }).waitFor();
}, 600_000);

const tooWide = (page: Page): Promise<number> =>
  page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

test("the text of a hostile model is shown as text: it runs nothing, loads nothing, widens no page", async () => {
  const id = await serving.run("hostile");
  await serving.until(id, "failed");
  for (const width of [1280, 380]) {
    const page = await open(serving, `/threads/${id}`, { width });
    const foreign: string[] = [];
    page.on("request", (request) => foreign.push(request.url()));
    for (let step = 1; step <= 5; step += 1) {
      await page.goto(`http://127.0.0.1:${serving.port}/threads/${id}?step=${step}`);
      const details = page.getByRole("article");
      const rerun = details.getByRole("button", { name: "Rerun from here" });
      await rerun.waitFor();
      const right = await rerun.evaluate((button) => button.getBoundingClientRect().right);
      expect(right).toBeLessThan(width);
      const closed = details.locator("[aria-expanded=false], details:not([open]) > summary");
      for (let left = await closed.count(); left > 0; left -= 1) await closed.first().click();
      const whole = details.getByRole("button", { name: /^Show all/ });
      for (let left = await whole.count(); left > 0; left -= 1) await whole.first().click();
      expect(await tooWide(page)).toBe(0);
    }
    for (const view of ["Graph", "State", "Events", "Trace"]) {
      await page.getByRole("tab", { name: view }).click();
      await page
        .getByRole("tabpanel")
        .getByText(/quoted/)
        .first()
        .waitFor();
      expect(await tooWide(page)).toBe(0);
    }
    await page.getByRole("link", { name: "hostile", exact: true }).click();
    await page.getByText(long).first().waitFor();
    expect(await tooWide(page)).toBe(0);
    expect(await page.evaluate(() => "ran" in globalThis)).toBe(false);
    expect(foreign.filter((url) => !url.startsWith(`http://127.0.0.1:${serving.port}/`))).toEqual(
      [],
    );
  }
}, 600_000);
