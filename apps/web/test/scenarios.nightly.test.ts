import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Workflow } from "@uncaged/workflow-server/api-types";
import type { Locator, Page } from "playwright-core";
import { openaiServer } from "../../../packages/workflow-agents/test/openai-server.ts";
import { bundleOf } from "../../../packages/workflow/test/fixtures/bundles.ts";
import { keepPicture, type Look, open, useConsoleProcess } from "./browser.ts";
import { keyboard, mouse } from "./hand.ts";
import { detailsOf } from "./trace.ts";
import { darken, violationsOf } from "./violations.ts";

/*
 * A person works with threads, by one device alone. The scenarios of the editors are in graph-editor.nightly.test.ts
 * and steps-editor.nightly.test.ts.
 */

let gate = Promise.withResolvers<void>();
/** An agent calls all its subagents at once. Each subagent waits at the gate. */
const model = await openaiServer(({ messages, tools = [] }) => {
  const names = tools.flatMap((tool) => ("function" in tool ? [tool.function.name] : []));
  const agents = names.filter((name) => name.startsWith("subagent"));
  const isAnswered = messages.some(({ role }) => role === "tool");
  if (agents.length > 0 && !isAnswered)
    return { tools: agents.map((name) => ({ name, input: { message: "What is known?" } })) };
  if (agents.length > 0) return { text: "Rivers bring salt to the sea." };
  return { text: "Rivers **bring** salt. ".repeat(4), held: gate.promise };
});
const serving = useConsoleProcess("asker");
serving.more = { ...serving.more, OPENAI_API_KEY: model.key, OPENAI_BASE_URL: model.url };
afterAll(model.stop);

const orders = `
import { durable } from "@uncaged/workflow";
export const descriptor = { description: "Imports orders", roles: {} };
export const run = durable(async function* (step, { params }) {
  const rows = yield* step("read", () => 750);
  yield* step("import", () => {
    if (params.format !== "iso") throw new Error("orders.csv, line 751: no date");
    return rows + " rows";
  });
  return "imported";
});
`;

const agents = ["Geologist", "Chemist", "Biologist", "Historian"];
const team = {
  nodes: [
    { id: "start", type: "start", x: 0, y: 0, data: { initialInput: "Why is the sea salt?" } },
    {
      ...{ id: "lead", type: "agent", x: 300, y: 0 },
      data: { agentName: "Lead", model: "gpt-5", tools: { subagents: true } },
    },
    ...agents.map((agentName, at) => ({
      ...{ id: agentName, type: "agent", x: at * 300, y: 300 },
      data: { agentName, model: "gpt-5" },
    })),
  ],
  connections: [
    { source: "start", target: "lead" },
    ...agents.map((target) => ({ source: "lead", target, sourceHandle: "subagent" })),
  ],
};

const approval = {
  nodes: [
    { id: "s", type: "start", x: 0, y: 0, data: { initialInput: "# The report\n\n- one finding" } },
    { id: "a", type: "approval", x: 200, y: 0, data: { prompt: "Publish this?" } },
  ],
  connections: [{ source: "s", target: "a" }],
};

/** A workflow that fails with the option `bad`, unless `fix` evaluates to "fixed". */
const fragile = (fix: string) =>
  bundleOf(`
  yield step("check", "an order");
  if (options.bad && ${fix} !== "fixed") throw new Error("the order has no date");
`);

beforeAll(async () => {
  await serving.add("orders", orders, "orders.ts");
  await serving.add("team", JSON.stringify(team), "team.json");
  await serving.add("approval", JSON.stringify(approval), "approval.json");
}, 600_000);

async function started(workflow: string, more: object = {}): Promise<string> {
  const body = { workflow, ...more };
  return (await serving.ok<{ threadId: string }>("/api/threads", body)).threadId;
}

const pages = (page: Page) => page.getByRole("navigation", { name: "Pages" });
const dialogOf = (page: Page) => page.getByRole("dialog");
const idIn = (page: Page) => /\/threads\/(\w+)/.exec(page.url())?.[1] ?? "";

/** Checks a state by axe in both themes, and its width. */
async function check(page: Page, name: string): Promise<void> {
  await keepPicture(page, `${name}-light`);
  expect([name, await violationsOf(page)]).toEqual([name, []]);
  await darken(page);
  expect([name, await violationsOf(page)]).toEqual([name, []]);
  await keepPicture(page, `${name}-dark`);
  await page.emulateMedia({ colorScheme: "light" });
  const tooWide = () => document.documentElement.scrollWidth - innerWidth;
  expect([name, await page.evaluate(tooWide)]).toEqual([name, 0]);
}

async function checkPhone(address: string, name: string, shown: (page: Page) => Locator) {
  const phone = await open(serving, address, { width: 380, height: 780 });
  await shown(phone).first().waitFor();
  await check(phone, `${name}-phone`);
  await phone.close();
}

const look: Look = { width: 1440, height: 900 };

describe.each([
  { by: "mouse", handOf: mouse },
  { by: "keyboard", handOf: keyboard },
])("by $by alone", ({ by, handOf }) => {
  test("a person finds a failure and its cause, corrects the params, continues before the failed step, and compares", async () => {
    const prompt = `Import the orders by ${by}`;
    const failed = await started("orders", { prompt, params: { format: "us" } });
    await serving.until(failed, "failed");
    const page = await open(serving, "/", look);
    const hand = handOf(page);
    await hand.press("link", "Failed today");
    await page
      .getByRole("row", { name: /orders.csv, line 751: no date/ })
      .first()
      .waitFor();
    await check(page, "failed-list");
    await hand.press("link", prompt);
    const details = page.getByRole("article", { name: "Details of import" });
    await details.getByText("orders.csv, line 751: no date").first().waitFor();
    await details
      .getByText(/orders\.ts:7/)
      .first()
      .waitFor();
    await check(page, "failed-thread");
    await hand.press("button", "Rerun from here");
    await page.getByRole("dialog", { name: "Rerun from step 2: import" }).waitFor();
    await page.getByLabel("Params", { exact: true }).waitFor();
    await check(page, "rerun");
    await hand.write("Params", '{"format": "iso"}');
    await hand.press("button", "Rerun", dialogOf(page));
    await page.waitForURL(
      (url) => url.pathname.includes("/threads/") && !url.href.includes(failed),
    );
    const { steps, forkFrom } = await serving.until(idIn(page), "completed");
    expect(forkFrom).toEqual({ threadId: failed, steps: 1 });
    expect(steps.map(({ role }) => role)).toEqual(["read", "import"]);
    await hand.press("button", "Compare with original");
    const params = page.getByRole("region", { name: "Params" });
    await params.getByText("iso").first().waitFor();
    await page.getByRole("region", { name: "Errors" }).getByText("line 751").first().waitFor();
    await page.getByRole("columnheader", { name: "Thread A" }).getByText("failed").waitFor();
    await page.getByRole("columnheader", { name: "Thread B" }).getByText("completed").waitFor();
    await check(page, "compare");
    await checkPhone(new URL(page.url()).pathname, "compare", (phone) =>
      phone.getByRole("region", { name: "Params" }),
    );
    await checkPhone(`/threads/${failed}`, "failed-thread", (phone) => phone.getByText(/line 751/));
  }, 600_000);

  test("a person answers and approves in the inbox", async () => {
    const asking = await serving.run("asker");
    const deciding = await started("approval", { prompt: `The report by ${by}` });
    for (const id of [asking, deciding]) await serving.until(id, "waiting");
    const page = await open(serving, "/", look);
    const hand = handOf(page);
    await hand.press("link", /^Inbox \d waiting$/, pages(page));
    const list = page.getByRole("navigation", { name: "Waiting" });
    await hand.press("link", "asker", list);
    await page.getByText("may I?").last().waitFor();
    await check(page, "inbox");
    await hand.write("Your answer", "yes");
    await hand.press("button", "Answer");
    await serving.until(asking, "completed");
    await hand.press("link", `The report by ${by}`, list);
    await page.getByRole("region", { name: "To be approved" }).waitFor();
    await check(page, "inbox-approval");
    await checkPhone(`/inbox?item=${deciding}.2`, "inbox", (phone) =>
      phone.getByRole("button", { name: "Approve" }),
    );
    await hand.write("Note (optional)", "Good.");
    await hand.press("button", "Approve");
    const { steps } = await serving.until(deciding, "completed");
    expect(steps.at(-1)?.meta.value).toEqual({ decision: "approve", note: "Good." });
    await page.getByText("Nothing waits for you").waitFor();
    await check(page, "inbox-empty");
  }, 600_000);

  test("a person watches four agents, and their tokens and cost grow", async () => {
    gate = Promise.withResolvers();
    const id = await started("team", { prompt: `Salt by ${by}` });
    const page = await open(serving, "/", look);
    const hand = handOf(page);
    await hand.press("link", `Salt by ${by}`);
    const trace = page.getByRole("treegrid", { name: "Trace" });
    for (const name of agents) {
      await trace
        .getByRole("row", { name: new RegExp(`running.*${name}`) })
        .first()
        .waitFor();
    }
    await check(page, "live");
    await checkPhone(`/threads/${id}`, "live", (phone) =>
      phone.getByRole("row", { name: /Chemist/ }),
    );
    const figure = (word: string) =>
      page.locator("main header dd").filter({ hasText: word }).first();
    const before = [await figure("tokens").textContent(), await figure("cost").textContent()];
    await hand.press("tab", "Graph");
    await page
      .getByRole("button", { name: /Chemist.*running/ })
      .first()
      .waitFor();
    await check(page, "live-graph");
    await hand.press("tab", "Trace");
    gate.resolve();
    await serving.until(id, "completed");
    await page.locator("main header").getByText("completed", { exact: true }).first().waitFor();
    const after = [await figure("tokens").textContent(), await figure("cost").textContent()];
    expect(before.every((text) => text && /[1-9]/.test(text))).toBe(true);
    expect(after.map(amount)[0]).toBeGreaterThan(amount(before[0] ?? ""));
    expect(after.map(amount)[1]).toBeGreaterThan(amount(before[1] ?? ""));
    await page.getByText("Rivers bring salt to the sea.").first().waitFor();
    await check(page, "watched");
  }, 600_000);

  test("a person rolls a workflow back because its newest version fails more often", async () => {
    const name = `fragile-${by}`;
    await serving.add(name, fragile('"fixed"'));
    const { hash: good } = await serving.ok<Workflow>(`/api/workflows/${name}`);
    await serving.until(await serving.run(name, { bad: true }), "completed");
    await serving.add(name, fragile(`"broken by ${by}"`));
    for (const bad of [false, true, true]) {
      await serving.until(await serving.run(name, { bad }), bad ? "failed" : "completed");
    }
    const page = await open(serving, "/", look);
    const hand = handOf(page);
    await hand.press("link", "Workflows", pages(page));
    await hand.press("link", name);
    const older = page.getByRole("article", { name: `Version ${good}` });
    await page.getByRole("article").filter({ hasText: "current" }).getByText("33.3%").waitFor();
    await older.getByText("100%").waitFor();
    await check(page, "versions");
    await checkPhone(`/workflows/${name}`, "versions", (phone) => phone.getByText("33.3%"));
    await hand.press("button", "Roll back", older);
    await dialogOf(page).getByRole("cell", { name: "33.3%" }).waitFor();
    await check(page, "roll-back");
    await hand.press("button", "Roll back", dialogOf(page));
    await older.getByText("current", { exact: true }).waitFor();
    expect(await serving.ok<Workflow>(`/api/workflows/${name}`)).toMatchObject({ hash: good });
  }, 600_000);
});

/** A step that adds. */
const sum = {
  version: "3.18",
  name: "sum",
  registry: { params: [], vars: ["$a(INT) = 1", "$sum(INT) = 0"] },
  steps: [
    { id: "Set_Sum", target: "$sum", value: "=$a + 10", next: "Stop_End" },
    { id: "Stop_End", reason: "='the sum is ' + $sum" },
  ],
};

/** A dialog that starts a thread: its button, the path of its request, and a text typed into a field. */
type Filled = { page: Page; button: string; path: string; field: Locator; text: string };

const fills: Record<string, () => Promise<Filled>> = {
  async "a rerun with other params"() {
    const id = await started("orders", { params: { format: "us" } });
    await serving.until(id, "failed");
    const page = await open(serving, `/threads/${id}`, look);
    await mouse(page).press("button", "Rerun from here");
    const field = page.getByLabel("Params", { exact: true });
    return { page, button: "Rerun", path: "**/fork", field, text: '{"format": "iso"}' };
  },
  async "a rerun of a step with another value"() {
    await serving.add("sum", JSON.stringify(sum), "sum.json");
    const id = await started("sum");
    await serving.until(id, "completed");
    const page = await open(serving, `/threads/${id}`, look);
    await (await detailsOf(page, 1, "Set_Sum"))
      .getByRole("button", { name: "Rerun from here" })
      .click();
    const field = page.getByLabel("$a as JSON");
    return { page, button: "Rerun", path: "**/workflow/rerun", field, text: "30" };
  },
  async "a start with the values of a thread"() {
    const id = await started("orders", { prompt: "before", params: { format: "iso" } });
    await serving.until(id, "completed");
    const page = await open(serving, `/threads/${id}`, look);
    await mouse(page).press("button", "More actions");
    await mouse(page).press("menuitem", "Start again with these values");
    const field = page.getByLabel("Prompt", { exact: true });
    return { page, button: "Start", path: "**/api/threads", field, text: "after" };
  },
};

describe("a server that disappears", () => {
  test.each(Object.entries(fills))(
    "during %s loses no text, says so, and starts one thread",
    async (_, fill) => {
      const { page, button, path, field, text } = await fill();
      await field.fill(text);
      const threads = async () => (await serving.ok<object[]>("/api/threads?limit=1000")).length;
      const before = await threads();
      const [from, dialog] = [page.url(), dialogOf(page)];
      const isRefused = async () => {
        await mouse(page).press("button", button, dialog);
        await dialog.getByText("The server can't be reached").waitFor();
        expect(await field.inputValue()).toBe(text);
      };
      // The server starts the thread, and its answer is lost.
      await page.route(path, async (route) => {
        await route.fetch();
        await route.abort("connectionreset");
      });
      await isRefused();
      await page.unroute(path);
      const { port } = serving;
      await serving.stop("SIGKILL");
      await isRefused();
      await serving.serve(port);
      await mouse(page).press("button", button, dialog);
      await page.waitForURL((url) => url.pathname !== new URL(from).pathname);
      await serving.until(idIn(page), "completed");
      expect(await threads()).toBe(before + 1);
    },
    600_000,
  );

  test("during a rollback is reported, and the version does not change until it is back", async () => {
    await serving.add("versions", fragile('"fixed"'));
    const { hash: good } = await serving.ok<Workflow>("/api/workflows/versions");
    await serving.add("versions", fragile('"broken"'));
    const page = await open(serving, "/workflows/versions", look);
    const older = page.getByRole("article", { name: `Version ${good}` });
    await mouse(page).press("button", "Roll back", older);
    const { port } = serving;
    await serving.stop("SIGKILL");
    await mouse(page).press("button", "Roll back", dialogOf(page));
    await dialogOf(page).getByText("The server can't be reached").waitFor();
    await serving.serve(port);
    await mouse(page).press("button", "Roll back", dialogOf(page));
    await older.getByText("current", { exact: true }).waitFor();
    expect(await serving.ok<Workflow>("/api/workflows/versions")).toMatchObject({ hash: good });
  }, 600_000);
});

/** The number in a text such as `$0.0120 cost` or `1.2 k tokens`. */
const amount = (text: string | null): number =>
  Number(/[\d.]+/.exec(text ?? "")?.[0]) * (/\d k\b/.test(text ?? "") ? 1000 : 1);
