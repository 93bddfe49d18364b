// @all-cases: each act in the editor of graphs.
import { afterAll, describe, expect, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { keepPicture, open, useConsole } from "./browser.ts";
import { nodeOf, scriptedModel, statusIs } from "./graph-runs.ts";
import { type Hand, keyboard, mouse } from "./hand.ts";
import { drag } from "./pointer.ts";

const serving = useConsole();
const model = await scriptedModel(serving);
afterAll(model.stop);

/** What builds a graph: nodes and lines, each as its reader would. */
type Builder = Hand & {
  add(type: string, key: string, at: { x: number; y: number }): Promise<void>;
  edit(id: string, fields: () => Promise<void>): Promise<void>;
  connect(from: [id: string, port: string], to: [id: string, port: string]): Promise<void>;
};

const form = (page: Page): Locator => page.getByRole("region", { name: "Node" });

function byMouse(page: Page): Builder {
  const hand = mouse(page);
  return {
    ...hand,
    async add(type, _key, at) {
      const item = page
        .getByRole("group", { name: "Add a node" })
        .getByRole("button", { name: type });
      await item.dragTo(page.locator(".react-flow"), { targetPosition: at });
    },
    async edit(id, fields) {
      await hand.press("tab", "Node");
      await nodeOf(page, id).click({ position: { x: 60, y: 12 } });
      await form(page).getByText(id, { exact: true }).waitFor();
      await fields();
    },
    async connect([source, port], [target, entry]) {
      const handle = (id: string, name: string) =>
        nodeOf(page, id).locator(`[data-handleid="${name}"]`);
      await drag(page, handle(source, port), handle(target, entry));
    },
  };
}

function byKeys(page: Page): Builder {
  const hand = keyboard(page);
  const select = async (id: string) => {
    await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
    await page.keyboard.press("/");
    await page.keyboard.type(id);
    await page.keyboard.press("Enter");
    await page.keyboard.press("Escape");
    await form(page).getByText(id, { exact: true }).waitFor();
  };
  return {
    ...hand,
    async add(_type, key) {
      await page.keyboard.press("a");
      // The dialog takes the focus a frame after it shows.
      const adding = page.getByRole("dialog", { name: "Add a node" });
      await adding.locator(":focus").first().waitFor();
      await page.keyboard.press(key);
      await page.getByRole("dialog").waitFor({ state: "detached" });
    },
    async edit(id, fields) {
      await select(id);
      await page.keyboard.press("F2");
      await form(page).locator("input:focus, textarea:focus, select:focus").waitFor();
      await fields();
    },
    async connect([source, port], [target, entry]) {
      await select(source);
      await page.keyboard.press("c");
      await page.getByRole("dialog").locator(":focus").first().waitFor();
      const optionOf = (label: string, value: string) =>
        page
          .getByLabel(label, { exact: true })
          .locator(`option[value='${value}']`)
          .evaluate((option: HTMLOptionElement) => option.text);
      await hand.choose("From", await optionOf("From", port));
      await hand.choose("To", await optionOf("To", JSON.stringify({ node: target, port: entry })));
      await hand.press("button", "Connect", page.getByRole("dialog"));
      await page.getByRole("dialog").waitFor({ state: "detached" });
    },
  };
}

type Graph = { nodes: { id: string; data?: object }[]; connections: object[] };

/** The graph that the browser keeps, once it has so many connections. */
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
  ["by keyboard", byKeys],
])("alone %s", (_, handOf) => {
  test("a graph is built from nothing, run, sent back with a note, approved, and cancelled, with reloads in the middle", async () => {
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
    await page.getByText("Subagents: 1 running").waitFor();
    await page.reload();
    go();
    await hand.press("tab", "Run");
    await page.getByText("A first text.").first().waitFor();
    await statusIs(page, "Paused");
    await keepPicture(page, "graph-editor");
    await page.reload();
    await hand.press("tab", "Run");
    await hand.write("Note (optional)", "Name the rivers.");
    await hand.press("button", "Reject");
    await page.getByText("User rejected this step. Feedback: Name the rivers.").waitFor();
    await page.getByText("A second text.").first().waitFor();
    await hand.write("Note (optional)", "Good.");
    await hand.press("button", "Approve");
    await page.getByText("User approved this step. Feedback: Good.").waitFor();
    await statusIs(page, "Completed");
    expect(await page.evaluate(() => localStorage.getItem("agentflow-run-id"))).toBeNull();
    go = model.hold();
    await hand.press("button", "Run");
    await page.getByText("Subagents: 1 running").waitFor();
    await page.reload();
    await hand.press("tab", "Run");
    await page.getByText("Subagents: 1 running").waitFor();
    await hand.press("button", "Cancel");
    await statusIs(page, "Cancelled");
    go();
    await hand.press("button", "Clear");
    await hand.press("button", "Clear", page.getByRole("dialog"));
    await page.getByText("Write a prompt and run the graph").waitFor();
  }, 600_000);
});
