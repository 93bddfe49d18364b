import { afterAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { keepPicture, open, useConsole } from "./browser.ts";
import { byKeyboard, byMouse } from "./graph-hand.ts";
import { chain, nodeOf, openKept, scriptedModel, statusIs, traced } from "./graph-runs.ts";
import { mouse } from "./hand.ts";
import { violationsOf } from "./violations.ts";

const serving = useConsole();
const model = await scriptedModel(serving);
afterAll(model.stop);

type Graph = { nodes: { id: string; data?: object }[]; connections: object[] };

/** The stored graph, once it has this number of connections. */
async function kept(page: Page, connections: number): Promise<Graph> {
  const text = await page.waitForFunction((count) => {
    const stored = localStorage.getItem("agentflow-workflow") ?? "{}";
    const graph = JSON.parse(stored) as { connections?: unknown[] };
    return graph.connections?.length === count ? stored : null;
  }, connections);
  return JSON.parse(String(await text.jsonValue())) as Graph;
}

describe.each([
  ["by mouse", byMouse],
  ["by keyboard", byKeyboard],
])("alone %s", (_, handOf) => {
  test("a graph is built from nothing, run, sent back with a note, approved and cancelled, with reloads in between", async () => {
    const page = await open(serving, "/editor/graph", { width: 1150 });
    const hand = handOf(page);
    await nodeOf(page, "node_1").waitFor();
    await hand.add("Agent", "a", { x: 150, y: 120 });
    await hand.add("Agent", "a", { x: 150, y: 560 });
    await hand.add("User Approval", "u", { x: 520, y: 120 });
    await hand.edit("node_2", async () => {
      await hand.write(/^Name/, "Writer");
      await hand.press("checkbox", "May call subagents");
    });
    await hand.edit("node_3", () => hand.write(/^Name/, "Geologist"));
    await hand.connect(["node_1", "output"], ["node_2", "input"]);
    await hand.connect(["node_2", "subagent"], ["node_3", "called"]);
    await hand.connect(["node_2", "output"], ["node_4", "input"]);
    await hand.connect(["node_4", "reject"], ["node_2", "input"]);
    expect((await kept(page, 4)).connections).toEqual([
      { source: "node_1", target: "node_2" },
      { source: "node_2", target: "node_3", sourceHandle: "subagent" },
      { source: "node_2", target: "node_4" },
      { source: "node_4", target: "node_2", sourceHandle: "reject" },
    ]);
    await hand.press("tab", "Run");
    await hand.write("Prompt", "Why is the sea salt?");
    let go = model.hold();
    await hand.press("button", "Run");
    await traced(page, /running.*node_3/).waitFor();
    await page.reload();
    go();
    await hand.press("tab", "Run");
    await page.getByText("A first text.").first().waitFor();
    await statusIs(page, "waiting");
    await keepPicture(page, "graph-editor");
    await page.reload();
    await hand.press("tab", "Run");
    await hand.write("Note (optional)", "Name the rivers.");
    await hand.press("button", "Reject");
    await page.getByText("A second text.").first().waitFor();
    await hand.write("Note (optional)", "Good.");
    await hand.press("button", "Approve");
    await statusIs(page, "completed");
    expect(await page.evaluate(() => localStorage.getItem("agentflow-run-id"))).toBeNull();
    go = model.hold();
    await hand.press("button", "Run");
    await traced(page, /running.*node_3/).waitFor();
    await page.reload();
    await hand.press("tab", "Run");
    await traced(page, /running.*node_3/).waitFor();
    await hand.press("button", "Cancel");
    await statusIs(page, "killed");
    go();
    const runs = page.getByRole("group", { name: "Runs" });
    expect(await runs.getByRole("button", { pressed: true }).textContent()).toContain("killed");
    await hand.press("button", "Forget Run");
    await hand.press("button", "Forget Run");
    await page.getByText("Write a prompt and run the graph").waitFor();
  }, 600_000);
});

const graphKey = "agentflow-workflow";
const runKey = "agentflow-run-id";
const agent = (systemPrompt: string) => ({
  type: "agent",
  data: { agentName: "Agent", systemPrompt },
});
const approval = { type: "approval", data: { prompt: "Go **on**?" } };
const keptId = (page: Page) => page.evaluate((key) => localStorage.getItem(key), runKey);

async function run(page: Page): Promise<void> {
  await mouse(page).press("button", "Run…");
  await mouse(page).press("button", "Run");
}

test("every state of the editor passes axe, in the dark theme and at 380 px, where a graph is viewed and answered", async () => {
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
  const stored = { [graphKey]: graph, [runKey]: (await keptId(page)) ?? "" };
  const phone = await openKept(serving, stored, { width: 380, height: 800 });
  await phone.getByRole("tab", { name: "Run" }).click();
  await phone.getByRole("button", { name: "Approve" }).waitFor();
  expect(await phone.getByRole("group", { name: "Add a node" }).count()).toBe(0);
  await check(phone);
  const tooWide = () => document.documentElement.scrollWidth - innerWidth;
  expect(await phone.evaluate(tooWide)).toBe(0);
  await phone.getByRole("button", { name: "Approve" }).click();
  await statusIs(phone, "failed");
  await phone.getByText("the model is tired").first().waitFor();
  await check(phone);
  await mouse(phone).press("button", "Retry");
  await statusIs(phone, "completed");
  await check(phone);
  await mouse(phone).press("button", "Show all");
  await nodeOf(phone, "n2").click({ position: { x: 30, y: 12 } });
  await phone.getByRole("region", { name: "Data" }).getByText("approve").waitFor();
  await check(phone);
  await mouse(phone).press("tab", "Settings");
  await mouse(phone).press("button", "Run from this node");
  await phone.getByRole("button", { name: "Approve" }).waitFor();
  await traced(phone, /copied.*n1/).waitFor();
  await mouse(phone).press("button", "Cancel");
  await statusIs(phone, "killed");
  await check(phone);
  expect(violations).toEqual([]);
}, 600_000);
