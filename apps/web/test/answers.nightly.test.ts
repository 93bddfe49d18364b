import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { anthropicServer } from "../../../packages/workflow-agents/test/anthropic-server.ts";
import type { WireServer } from "../../../packages/workflow-agents/test/wire.ts";
import { asker, bundleOf } from "../../../packages/workflow/test/fixtures/bundles.ts";
import type { Thread } from "../../../packages/server/src/entry/api-types.ts";
import { keepPicture, type Look, open, useConsoleProcess } from "./browser.ts";
import { violationsOf } from "./violations.ts";

/** A workflow that asks for an answer of a type, and then publishes or stops, depending on `condition`. */
const asking = (type: string, condition: string) => ({
  version: "3.16",
  name: "asking",
  registry: { vars: [`$answer(${type})`] },
  steps: [
    { id: "Pause_Ask", reason: "Publish?", resumeResultTarget: "$answer", next: "Branch_Answer" },
    { id: "Branch_Answer", cases: [[condition, "Stop_Published"]], next: "Stop_Refused" },
    { id: "Stop_Published", reason: "='published ' + $answer" },
    { id: "Stop_Refused", reason: "refused" },
  ],
});

const wait = (meta: object) =>
  bundleOf(`
    let answer = input.steps.find(({ role }) => role === "__input__");
    if (!answer) answer = yield step("__wait__", "Publish?", ${JSON.stringify({ for: "leave", ...meta })});
    yield step("reported", JSON.stringify(answer.meta.value ?? answer.content));
  `);

const report = Array.from({ length: 60 }, (_, n) => `- finding ${n + 1}`).join("\n");
const graph = {
  nodes: [
    { id: "s", type: "start", x: 0, y: 0, data: { initialInput: `# Report\n\n${report}` } },
    { id: "first", type: "approval", x: 200, y: 0, data: { prompt: "Publish **this**?" } },
    { id: "second", type: "approval", x: 400, y: 0, data: { prompt: "Really?" } },
  ],
  connections: [
    { source: "s", target: "first" },
    { source: "first", target: "second", sourceHandle: "approve" },
  ],
};

/** A model that makes three tool calls, each of which needs an approval. */
const model: WireServer<object> = await anthropicServer((body) => {
  const { messages } = body as { messages: object[] };
  if (messages.length > 1) return { text: JSON.stringify(messages.at(-1)) };
  const call = (n: number) => ({ name: "deploy", input: { n, note: ` of ${n}` } });
  return { text: "I deploy three.", tools: [call(1), call(2), call(3)] };
});
const serving = useConsoleProcess();
// A thread inherits the environment of the server that starts it.
Object.assign(serving.more, { ANTHROPIC_API_KEY: model.key, ANTHROPIC_BASE_URL: model.url });
afterAll(() => model.stop());

beforeAll(async () => {
  const flows = {
    string: asking("STRING", "=$answer == '12'"),
  };
  for (const [name, flow] of Object.entries(flows)) {
    await serving.add(name, JSON.stringify(flow), `${name}.json`);
  }
  await serving.add("graph", JSON.stringify(graph), "graph.json");
  await serving.add("open", wait({}));
  const choice = { enum: ["approve", "reject"] };
  const properties = { decision: choice, isUrgent: { type: "boolean" } };
  await serving.add("form", wait({ schema: { type: "object", properties } }));
  await serving.add("text", wait({ schema: { type: "string", minLength: 1 } }));
  const source = join(import.meta.dir, "../../../packages/workflow-agents/test/approve/approve.ts");
  expect(await serving.spawn("add", "deploys", source).exited).toBe(0);
}, 600_000);

async function asked(workflow: string): Promise<{ page: Page; id: string }> {
  const id = await serving.run(workflow);
  await serving.until(id, "waiting");
  const page = await open(serving, `/threads/${id}`);
  await page
    .getByLabel(/nswer$/)
    .or(page.getByRole("button", { name: "Approve" }))
    .first()
    .waitFor();
  return { page, id };
}

const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();

test("an open question and a text question are answered by typing, not by a click", async () => {
  for (const [workflow, text, answer] of [
    ["open", '{"approved":true}', '{"approved":true}'],
    ["open", "shorter, please", '"shorter, please"'],
    ["text", "12", '"12"'],
  ] as const) {
    const { page, id } = await asked(workflow);
    expect(await page.getByRole("button", { name: /^(Approve|Reject)$/ }).count()).toBe(0);
    await page.getByLabel("Your answer").fill(text);
    await press(page, "Answer");
    expect((await serving.until(id, "completed")).steps.at(-1)?.content).toBe(answer);
  }
  const { page, id } = await asked("string");
  expect(await page.getByRole("button", { name: "Approve" }).count()).toBe(0);
  await page.getByLabel("Your answer").fill("12");
  await press(page, "Answer");
  expect((await serving.until(id, "completed")).result?.summary).toBe("published 12");
}, 600_000);

/** The region of an approval: in the inbox, or on its thread's page. */
async function approvalOf(id: string, path: string, look: Look = {}) {
  const page = await open(serving, path === "/inbox" ? `/inbox?item=${id}.2` : path, look);
  const card = page.getByRole("region", { name: "Question", exact: true });
  // A phone shows the trace first.
  if (path !== "/inbox" && look.width === 380) await press(page, "Go to question");
  await card.getByRole("region", { name: "To be approved" }).waitFor();
  return { page, card };
}

const askedTwice = async (prompt = graph.nodes[0]?.data.initialInput) => {
  const started = { workflow: "graph", prompt };
  const { threadId } = await serving.ok<{ threadId: string }>("/api/threads", started);
  await serving.until(threadId, "waiting");
  return threadId;
};

test.each(["inbox", "thread"])(
  "an approval is shown in full, and decided only by a button: %s",
  async (where) => {
    const id = await askedTwice();
    const path = where === "inbox" ? "/inbox" : `/threads/${id}`;
    const { page, card } = await approvalOf(id, path, { width: 1440, height: 900 });
    const subject = card.getByRole("region", { name: "To be approved" });
    await subject.getByRole("listitem").getByText("finding 60", { exact: true }).waitFor();
    await subject.getByText("Report", { exact: true }).waitFor();
    expect(await card.getByRole("button", { name: /^(Answer|Send)$/ }).count()).toBe(0);
    expect(await card.getByRole("combobox").count()).toBe(0);
    const note = card.getByLabel("Note (optional)");
    await note.fill("shorter");
    expect(await violationsOf(page)).toEqual([]);
    await keepPicture(page, `approval-${where}-light`);
    for (const look of [
      { width: 380, height: 800 },
      { width: 1440, height: 900, theme: "dark" as const },
    ]) {
      const { page: other } = await approvalOf(id, path, look);
      expect(await violationsOf(other)).toEqual([]);
      const tooWide = () => document.documentElement.scrollWidth - innerWidth;
      expect(await other.evaluate(tooWide)).toBe(0);
      await keepPicture(other, `approval-${where}-${look.width}`);
    }
    const { steps } = await serving.ok<Thread>(`/api/threads/${id}`);
    expect(steps.at(-1)?.role).toBe("__wait__");
    await card.getByRole("button", { name: "Approve", exact: true }).click();
    // The inbox shows its next item.
    if (where === "inbox") await page.goto(new URL(`/inbox?item=${id}.4`, page.url()).href);
    await card.getByText("Really?").waitFor();
    await card.getByRole("button", { name: "Reject", exact: true }).click();
    const done = await serving.until(id, "completed");
    expect(
      done.steps.flatMap(({ meta, role }) => (role === "__input__" ? [meta.value] : [])),
    ).toEqual([
      { decision: "approve", note: "shorter" },
      { decision: "reject", note: "" },
    ]);
  },
  600_000,
);

const wide = "w".repeat(2_000);

test.each([
  [
    "wide content",
    `| a | b |\n|---|---|\n| ${wide} | c |\n\n\`\`\`sh\n${wide} | last\n\`\`\``,
    "last",
  ],
  ["a definition", "a **report**\n\n[//]: # (and a payment)", "and a payment"],
  ["a link", "a [report](https://example.org/pay)", "https://example.org/pay"],
  ["words after the language of a block", "```sh and a payment\nls\n```", "and a payment"],
  ["a cell without a column", "| a |\n|---|\n| b | and a payment |", "and a payment"],
  ["characters that change the direction", "pay \u202e9 to a\u200b", "pay [U+202E]9 to a[U+200B]"],
])(
  "an approval hides nothing of its subject: %s",
  async (_, subject, last) => {
    const id = await askedTwice(subject);
    const { card } = await approvalOf(id, "/inbox", { width: 380, height: 800 });
    const region = card.getByRole("region", { name: "To be approved" });
    // The Markdown renderer loads on demand.
    if (subject.includes(wide)) await region.locator("pre").waitFor();
    await region.scrollIntoViewIfNeeded();
    await region.getByText(last).first().waitFor();
    // Wide content scrolls within the form.
    const clipped = await region.evaluate((box) => {
      const edge = box.getBoundingClientRect().right + 1;
      const isScrolled = (one: Element): boolean => {
        const at = one.parentElement;
        if (!at || at === box) return false;
        return getComputedStyle(at).overflowX === "auto" || isScrolled(at);
      };
      return [...box.querySelectorAll("*")]
        .filter((one) => one.getBoundingClientRect().right > edge && !isScrolled(one))
        .map(({ tagName }) => tagName);
    });
    expect(clipped).toEqual([]);
  },
  600_000,
);

test("the text of a question names characters that change the direction", async () => {
  await serving.add("tricky", asker.replace("may I?", "Pay \u202e9?"));
  const id = await serving.run("tricky");
  await serving.until(id, "waiting");
  const page = await open(serving, `/threads/${id}`);
  await page.getByRole("region", { name: "Question" }).getByText("Pay [U+202E]9?").waitFor();
}, 600_000);

test("an approval waits until all of a very long subject is shown", async () => {
  const id = await askedTwice(`${"a line\n".repeat(20_000)}the end`);
  const { card } = await approvalOf(id, `/threads/${id}`);
  const approve = card.getByRole("button", { name: "Approve", exact: true });
  await approve.waitFor();
  expect(await approve.isDisabled()).toBe(true);
  await card.getByRole("button", { name: /^Show more/ }).click();
  await card.getByText("the end").waitFor();
  expect(await approve.isEnabled()).toBe(true);
}, 600_000);

test("a double click, and a click on a question that was sent, send one answer", async () => {
  const id = await askedTwice();
  const { page, card } = await approvalOf(id, `/threads/${id}`);
  let sent = 0;
  const mayAnswer = Promise.withResolvers<void>();
  await page.route("**/input", async (route) => {
    sent += 1;
    await mayAnswer.promise;
    await route.continue();
  });
  const approve = card.getByRole("button", { name: "Approve", exact: true });
  await approve.dblclick();
  await approve.evaluate((button: HTMLElement) => [button.click(), button.click()]);
  mayAnswer.resolve();
  await page.getByText("Really?").first().waitFor();
  expect(sent).toBe(1);
  expect((await serving.ok<Thread>(`/api/threads/${id}`)).steps).toHaveLength(4);
}, 600_000);

test("an answer that a lost server did not confirm is kept, and sent once", async () => {
  const id = await serving.run("open");
  await serving.until(id, "waiting");
  const page = await open(serving, `/inbox?item=${id}.1`);
  const field = page.getByLabel("Your answer");
  await field.fill("shorter, please");
  let isLost = true;
  await page.route("**/input", async (route) => {
    const response = await route.fetch();
    // The server accepts the answer, and the connection breaks before its response.
    if (isLost) await route.abort();
    else await route.fulfill({ response });
  });
  await press(page, "Answer");
  await page.getByText("The server can't be reached").or(page.getByRole("alert")).first().waitFor();
  expect(await field.inputValue()).toBe("shorter, please");
  isLost = false;
  expect((await serving.until(id, "completed")).steps.at(-1)?.content).toBe('"shorter, please"');
  await page.getByText("this question is no longer open").waitFor();
  expect(await field.inputValue()).toBe("shorter, please");
}, 600_000);

test("the subject of an approval is shown as written, and formatted", async () => {
  const id = await askedTwice("a **report**");
  const { card } = await approvalOf(id, `/threads/${id}`);
  const region = card.getByRole("region", { name: "To be approved" });
  await region.getByRole("button", { name: "Show as written" }).click();
  await region.getByText("a **report**").waitFor();
  await region.getByRole("button", { name: "Show formatted" }).click();
  await region.getByText("a report").waitFor();
}, 600_000);

test("a decision is shown when its subject is laid out, and does not move away from a click", async () => {
  const id = await askedTwice();
  // An unused width gives the page a new browser context, which has an empty cache.
  const page = await open(serving, "/", { width: 1281 });
  const mayLoad = Promise.withResolvers<void>();
  await page.route(/\/markdown-[\w-]{8}\.js$/, async (route) => {
    await mayLoad.promise;
    await route.continue();
  });
  await page.goto(new URL(`/threads/${id}`, page.url()).href);
  const subject = page.getByRole("region", { name: "To be approved" });
  await subject.getByText("finding 60").first().waitFor();
  const approve = page.getByRole("button", { name: "Approve", exact: true });
  expect(await approve.count()).toBe(0);
  mayLoad.resolve();
  await approve.click();
  await page.getByText("Really?").first().waitFor();
}, 600_000);

test("a decision on a question that was answered elsewhere is refused and decides nothing", async () => {
  const id = await askedTwice();
  const { page } = await approvalOf(id, `/threads/${id}`);
  // Another program answers during the click, and the thread asks its next question.
  await page.route("**/input", async (route) => {
    await serving.ok(`/api/threads/${id}/input`, { value: "approve", question: 2 });
    await serving.until(id, "waiting", 4);
    await route.continue();
  });
  const refused = page.waitForResponse((response) => response.url().endsWith("/input"));
  await page.getByRole("button", { name: "Approve", exact: true }).click();
  expect((await refused).status()).toBe(409);
  await page.getByText("Really?").first().waitFor();
  expect((await serving.ok<Thread>(`/api/threads/${id}`)).steps).toHaveLength(4);
}, 600_000);

test("a question stays with its text when another program answers it during typing", async () => {
  const id = await askedTwice();
  const { page, card } = await approvalOf(id, `/threads/${id}`);
  const note = card.getByLabel("Note (optional)");
  await note.click();
  await page.keyboard.type("shor");
  await serving.ok(`/api/threads/${id}/input`, { value: "approve", question: 2 });
  await page.getByText("This question is no longer open").waitFor();
  await page.keyboard.type("ter");
  expect(await note.inputValue()).toBe("shorter");
  expect(await card.getByRole("button", { name: "Approve", exact: true }).isDisabled()).toBe(true);
  await serving.until(id, "waiting", 4);
  await press(page, "Go to question");
  await card.getByText("Really?").waitFor();
  await card.getByRole("button", { name: "Approve", exact: true }).click();
  expect((await serving.until(id, "completed")).status).toBe("completed");
}, 600_000);

test("a form sends no decision without a choice", async () => {
  const id = await serving.run("form");
  await serving.until(id, "waiting");
  const page = await open(serving, `/threads/${id}`);
  await page.getByLabel("decision").waitFor();
  await press(page, "Answer");
  await page.getByText("This must be filled in.").first().waitFor();
  expect(await serving.ok<Thread>(`/api/threads/${id}`)).toMatchObject({ status: "waiting" });
  await page.getByLabel("decision").selectOption("reject");
  await press(page, "Answer");
  const { steps } = await serving.until(id, "completed");
  expect(steps.at(-1)?.content).toBe('{"decision":"reject"}');
}, 600_000);

test("a waiting call shows its tool and input, and is approved, edited or rejected", async () => {
  const started = { workflow: "deploys", prompt: "claude" };
  const { threadId: id } = await serving.ok<{ threadId: string }>("/api/threads", started);
  await serving.until(id, "waiting");
  const page = await open(serving, `/inbox?item=${id}.1`);
  const card = page.getByRole("region", { name: "Question", exact: true });
  await card.getByText("Input of deploy").waitFor();
  await card.getByText("asks to run deploy").waitFor();
  await card.getByRole("button", { name: "Show as JSON" }).click();
  await card.getByText('{"n":1,"note":" of 1"}').waitFor();
  await keepPicture(page, "approve-inbox");
  await card.getByRole("button", { name: "Approve" }).click();

  await serving.until(id, "waiting", 3);
  await page.goto(new URL(`/inbox?item=${id}.3`, page.url()).href);
  await card.getByText("of 2").waitFor();
  await card.getByRole("button", { name: "Edit" }).click();
  const input = card.getByLabel("Input instead of the model's");
  expect(await input.inputValue()).toBe('{\n  "n": 2,\n  "note": " of 2"\n}');
  await input.fill('{"n": 2, ');
  await card.getByRole("button", { name: "Approve with this input" }).click();
  await card.getByText("Invalid JSON").waitFor();
  await input.fill('{"n": "two"}');
  await card.getByRole("button", { name: "Approve with this input" }).click();
  await card.getByText("invalid answer to tool").waitFor();
  await keepPicture(page, "approve-edit");
  await input.fill('{"n": 2, "note": " by hand"}');
  await card.getByRole("button", { name: "Approve with this input" }).click();

  const thread = await open(serving, `/threads/${id}`, { theme: "dark" });
  await thread.getByText("of 3").first().waitFor();
  await thread.getByLabel("Reason for a rejection").fill("not on a Friday");
  await keepPicture(thread, "approve-reject");
  await thread.getByRole("button", { name: "Reject", exact: true }).click();
  const { steps } = await serving.until(id, "completed");
  expect(steps.at(-1)?.content).toContain("a person refused this call: not on a Friday");
  const marks = join(serving.folder, "marks");
  expect(existsSync(marks) && readFileSync(marks, "utf8")).toBe("1 of 1\n2 by hand\n");
  await thread.getByText("completed").first().waitFor();
  await keepPicture(thread, "approve-done");
}, 600_000);
