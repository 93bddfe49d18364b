import { afterAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { useConsole } from "./browser.ts";
import { mouse } from "./hand.ts";
import { chain, nodeOf, openKept, scriptedModel, statusIs } from "./graph-runs.ts";
import { violationsOf } from "./violations.ts";

const serving = useConsole();
const model = await scriptedModel(serving);
afterAll(model.stop);

const graphKey = "agentflow-workflow";
const runKey = "agentflow-run-id";
const agent = (systemPrompt: string, agentName = "Agent") => ({
  type: "agent",
  data: { agentName, systemPrompt },
});
const approval = { type: "approval", data: { prompt: "Go **on**?" } };
const keptId = (page: Page) => page.evaluate((key) => localStorage.getItem(key), runKey);

async function run(page: Page): Promise<void> {
  await mouse(page).press("button", "Run…");
  await mouse(page).press("button", "Run");
}

test("every state of the editor passes axe, in the dark and at 380 px, where a graph is read and answered", async () => {
  const graph = chain(agent("say: one"), approval, agent("fail once"));
  const page = await openKept(serving, { [graphKey]: graph }, { width: 1150, theme: "dark" });
  const violations: string[] = [];
  const check = async (on: Page = page) => violations.push(...(await violationsOf(on)));
  await nodeOf(page, "n1").click({ position: { x: 60, y: 12 } });
  await page.getByLabel(/^System prompt/).waitFor();
  await check();
  await run(page);
  await page.getByRole("button", { name: "Approve" }).waitFor();
  await check();
  const kept = { [graphKey]: graph, [runKey]: (await keptId(page)) ?? "" };
  const phone = await openKept(serving, kept, { width: 380, height: 800 });
  await phone.getByRole("tab", { name: "Run" }).click();
  await phone.getByRole("button", { name: "Approve" }).waitFor();
  expect(await phone.getByRole("group", { name: "Add a node" }).count()).toBe(0);
  await check(phone);
  const tooWide = () => document.documentElement.scrollWidth - innerWidth;
  expect(await phone.evaluate(tooWide)).toBe(0);
  await phone.getByRole("button", { name: "Approve" }).click();
  await statusIs(phone, "Failed");
  await phone.getByText("Error: ").first().waitFor();
  await check(phone);
  await mouse(phone).press("button", "Retry from failed node");
  await statusIs(phone, "Completed");
  await check(phone);
  await mouse(phone).press("tab", "Node");
  await nodeOf(phone, "n2").click({ position: { x: 30, y: 12 } });
  await mouse(phone).press("button", "Run from this node");
  await phone.getByRole("button", { name: "Approve" }).waitFor();
  const answered = phone.getByRole("article", { name: "Agent" }).getByText("one", { exact: true });
  expect(await answered.count()).toBe(1);
  await mouse(phone).press("button", "Cancel");
  await statusIs(phone, "Cancelled");
  await phone.getByText("The run ended without an answer.").waitFor();
  await check(phone);
  expect(violations).toEqual([]);
}, 600_000);

test("names and texts of any kind are shown as text, and edits in mid-run leave the console as it is", async () => {
  const name = '<img src="x" onerror="window.ran = 1">';
  const link = "[here](JaVaScRiPt:window.ran=3) [there](data:text/html,x) **bold**";
  const text = `${link}\n\n<script>window.ran = 2</script>`;
  const graph = chain(agent(`say: ${text}`, name), approval, agent("say: end"));
  const page = await openKept(serving, { [graphKey]: graph });
  await run(page);
  await statusIs(page, "Paused");
  const log = page.getByRole("log");
  await log.getByText(name, { exact: true }).waitFor();
  await log.getByText("<script>window.ran = 2</script>").first().waitFor();
  await log.locator("strong").getByText("bold").first().waitFor();
  const links = await log
    .getByRole("link")
    .evaluateAll((all) => all.map((one) => one.getAttribute("href")));
  // Those of the agent's text, and of the same text as it is to be approved.
  expect(links).toEqual(["#", "#", "#", "#"]);
  await mouse(page).press("tab", "Node");
  await nodeOf(page, "n1").click({ position: { x: 60, y: 12 } });
  await mouse(page).write(/^Name/, "Another name");
  await nodeOf(page, "n2").click({ position: { x: 60, y: 12 } });
  await mouse(page).write(/^Prompt/, "Another question");
  await nodeOf(page, "n1").getByText("Another name").waitFor();
  await mouse(page).press("tab", "Run");
  await log.getByText(name, { exact: true }).waitFor();
  expect(await log.getByText(/^Another/).count()).toBe(0);
  await page.reload();
  await mouse(page).press("tab", "Run");
  await log.getByText(name, { exact: true }).waitFor();
  expect(await log.getByText(/^Another/).count()).toBe(0);
  expect(await page.evaluate(() => "ran" in globalThis)).toBe(false);
}, 600_000);

test("a run is cancelled in mid-flight, and one whose worker was lost goes on when it is asked to", async () => {
  // It is its subagent that never answers.
  const lead = agent("lead");
  const graph = JSON.parse(
    chain({ ...lead, data: { ...lead.data, tools: { subagents: true } } }),
  ) as { nodes: object[]; connections: object[] };
  graph.nodes.push({ id: "sub", x: 280, y: 300, ...agent("hang", "Geologist") });
  graph.connections.push({ source: "n1", target: "sub", sourceHandle: "subagent" });
  const page = await openKept(serving, { [graphKey]: JSON.stringify(graph) });
  const check = async () => expect(await violationsOf(page)).toEqual([]);
  const spins = page.getByRole("log").getByRole("img", { name: "running" }).first();
  await run(page);
  await spins.waitFor();
  await nodeOf(page, "n1").getByText("running").waitFor();
  await page.getByText("Subagents: 1 running").waitFor();
  await page
    .getByRole("log")
    .getByText(/^Half of/)
    .waitFor();
  await nodeOf(page, "sub").getByText("running").waitFor();
  await mouse(page).press("button", "Cancel");
  await statusIs(page, "Cancelled");
  await spins.waitFor({ state: "detached" });
  await mouse(page).press("button", "Run");
  await spins.waitFor();
  await check();
  await serving.killWorkers();
  for (let reloads = 0; reloads < 2; reloads += 1) {
    await page.getByRole("button", { name: "Continue" }).waitFor();
    await page.reload();
    await mouse(page).press("tab", "Run");
  }
  await check();
  await mouse(page).press("button", "Continue");
  await statusIs(page, "Running");
  await spins.waitFor();
  await mouse(page).press("button", "Cancel");
  await statusIs(page, "Cancelled");
  await page.reload();
  await nodeOf(page, "n1").waitFor();
  expect(await keptId(page)).toBeNull();
}, 600_000);

test("an unknown run is forgotten, one that can't be read is kept and asked for again", async () => {
  const unknown = { [runKey]: "01ARZ3NDEKTSV4RRFFQ69G5FAV" };
  const page = await openKept(serving, {
    [graphKey]: chain(approval, agent("say: end")),
    ...unknown,
  });
  await page.waitForFunction((key) => localStorage.getItem(key) === null, runKey);
  await run(page);
  await statusIs(page, "Paused");
  const id = await keptId(page);
  await page.route("**/api/run/*", (route) => route.fulfill({ status: 500, body: "{}" }));
  await page.reload();
  await mouse(page).press("tab", "Run");
  await page.getByText("Error: the server answered with the status 500").waitFor();
  expect(await keptId(page)).toBe(id);
  await page.unroute("**/api/run/*");
  await page.getByRole("button", { name: "Approve" }).waitFor();
}, 600_000);

test("what another program had stored is kept aside; a storage that is full or disabled is reported", async () => {
  const page = await openKept(serving, { [graphKey]: '{"theme":"dark"}' });
  await page.getByText("is no graph: it is an object without nodes and connections").waitFor();
  await nodeOf(page, "node_1").waitFor();
  const aside = () => localStorage.getItem("agentflow-workflow-broken");
  expect(await page.evaluate(aside)).toBe('{"theme":"dark"}');
  await page.evaluate(() => {
    let size = 4_000_000;
    for (let at = 0; size > 0; at += 1) {
      try {
        localStorage.setItem(`filler ${at}`, "x".repeat(size));
      } catch {
        size = Math.floor(size / 2);
      }
    }
  });
  await page.getByRole("button", { name: "Agent" }).click();
  await page.getByRole("status").getByText("This browser keeps no draft").waitFor();
  const other = await page.context().newPage();
  await other.addInitScript(() => {
    Object.defineProperty(globalThis, "localStorage", {
      get: () => {
        throw new DOMException("denied", "SecurityError");
      },
    });
  });
  await other.goto(page.url());
  await other.getByText("This browser stores nothing").waitFor();
  await other.getByRole("button", { name: "Condition" }).click();
  await nodeOf(other, "node_2").waitFor();
  await other.close();
}, 600_000);
