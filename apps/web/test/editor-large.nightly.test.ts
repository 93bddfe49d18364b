// @alone: it measures the tasks of the editor, and how long it takes to open.
import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { useConsole } from "./browser.ts";
import { chain, importText, nodeOf, openEditor, untilDraft } from "./editor.ts";
import { longestTask, mostTaskMs } from "./longest-task.ts";

const serving = useConsole();

/** A chain in rows, as a person would have laid it out. */
function rows(count: number): string {
  const graph = chain(...Array.from({ length: count - 1 }, (_, index) => `Agent ${index + 1}`));
  const nodes = graph.nodes.map((node, index) => ({
    ...node,
    x: (index % 20) * 280,
    y: Math.floor(index / 20) * 160,
  }));
  return JSON.stringify({ ...graph, nodes }, null, 2);
}

/** A chain of conditions in rows, all of which hold: it runs without a model. */
function conditions(count: number): string {
  const graph = JSON.parse(rows(count)) as ReturnType<typeof chain>;
  const nodes = graph.nodes.map((node, index) =>
    index === 0
      ? { ...node, data: { initialInput: "Begin" } }
      : { ...node, type: "if", data: { conditions: [{ operator: "contains", value: "begin" }] } },
  );
  const connections = graph.connections.map((line, index) =>
    index === 0 ? line : { ...line, sourceHandle: "condition-0" },
  );
  // A condition that leads nowhere keeps a graph from running.
  const back = { source: `node_${count}`, target: "node_2", sourceHandle: "false" };
  return JSON.stringify({ nodes, connections: [...connections, back] }, null, 2);
}

/** From when a page has read its draft until its nodes are painted, in milliseconds. */
async function paintAfterReload(page: Page): Promise<number> {
  await page.addInitScript(`{
    const { getItem } = Storage.prototype;
    Storage.prototype.getItem = function (key) {
      if (key === "agentflow-workflow") performance.mark("data");
      return getItem.call(this, key);
    };
    new MutationObserver((_, observer) => {
      if (!document.querySelector(".react-flow__node")) return;
      observer.disconnect();
      requestAnimationFrame(() => setTimeout(() => performance.mark("painted")));
    }).observe(document, { childList: true, subtree: true });
  }`);
  await page.reload();
  return await page.evaluate(async () => {
    const at = (name: string) => performance.getEntriesByName(name)[0]?.startTime;
    while (at("painted") === undefined) await new Promise((done) => setTimeout(done, 10));
    return (at("painted") ?? Number.NaN) - (at("data") ?? Number.NaN);
  });
}

/** The shortest such time of three, where the first is not short enough: a machine may pause. */
async function paintWithin(page: Page, most: number): Promise<number> {
  let shortest = await paintAfterReload(page);
  for (let more = 0; more < 2 && shortest >= most; more += 1)
    shortest = Math.min(shortest, await paintAfterReload(page));
  return shortest;
}

async function openLarge(count: number): Promise<Page> {
  const page = await openEditor(serving);
  await importText(page, "large.json", rows(count));
  await untilDraft(page, ({ nodes }) => nodes.length === count);
  return page;
}

/** Twice what is asked of a machine that does nothing else, as of the tasks: 300 ms, and 2 s. */
const mostPaintMs = { hundred: 600, fiveThousand: 4_000 };

test("100 nodes are painted within moments of their data", async () => {
  const page = await openLarge(100);
  expect(await paintWithin(page, mostPaintMs.hundred)).toBeLessThan(mostPaintMs.hundred);
}, 600_000);

type Took = [string, number][];

const measuring = (page: Page, took: Took) => async (name: string, act: () => Promise<unknown>) => {
  took.push([name, await longestTask(page, act)]);
};

/** Opens, selects, drags and renames, as one does with any node. */
async function measureUse(page: Page, took: Took): Promise<void> {
  const measure = measuring(page, took);
  await measure("open", async () => {
    await page.reload();
    await nodeOf(page, "Start").waitFor();
  });
  const node = page.locator('[data-id="node_3"]');
  await measure("select", () => node.click({ position: { x: 60, y: 14 } }));
  await measure("drag", async () => {
    const { x = 0, y = 0 } = (await node.boundingBox()) ?? {};
    await page.mouse.move(x + 40, y + 10);
    await page.mouse.down();
    await page.mouse.move(x + 140, y + 80, { steps: 12 });
    await page.mouse.up();
  });
  await measure("edit", async () => {
    await page.keyboard.press("F2");
    await page.keyboard.type("Another", { delay: 20 });
  });
}

test("500 nodes are opened, dragged, edited, laid out and copied without a long task", async () => {
  const page = await openLarge(500);
  const took: Took = [];
  const measure = measuring(page, took);
  await measureUse(page, took);
  await measure("zoom", async () => {
    await nodeOf(page, "Start").focus();
    for (const key of ["-", "+", "+", "0", "1"]) await page.keyboard.press(key);
  });
  await measure("move all", async () => {
    await page.keyboard.press("Control+a");
    for (let step = 0; step < 3; step += 1) await page.keyboard.press("ArrowRight");
  });
  const before = (await page.locator(".react-flow__node").first().getAttribute("style")) ?? "";
  await measure("lay out", async () => {
    await page.keyboard.press("l");
    await page.waitForFunction(
      (style) => document.querySelector(".react-flow__node")?.getAttribute("style") !== style,
      before,
    );
  });
  await measure("undo", () => page.keyboard.press("Control+z"));
  const mostTask = await mostTaskMs(page);
  expect(took.filter(([, ms]) => ms > mostTask)).toEqual([]);
}, 600_000);

test("500 nodes run without a long task", async () => {
  const page = await openEditor(serving);
  await importText(page, "conditions.json", conditions(500));
  await untilDraft(page, ({ nodes }) => nodes.length === 500);
  await page.reload();
  await nodeOf(page, "Start").waitFor();
  await page.getByRole("tab", { name: "Run" }).click();
  const took = await longestTask(page, async () => {
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("status", { name: "Run: Completed" }).waitFor();
  });
  expect(took).toBeLessThanOrEqual(await mostTaskMs(page));
  const checked = page.getByRole("log").getByText("evaluated as true");
  expect(await checked.count()).toBe(30);
  await page.getByRole("button", { name: "Show 30 earlier" }).click();
  await checked.nth(59).waitFor();
}, 600_000);

test("5,000 nodes open within seconds, and can be found, dragged and edited", async () => {
  const page = await openEditor(serving);
  const text = rows(5_000);
  await page.evaluate((draft) => {
    localStorage.setItem("agentflow-workflow", draft);
  }, text);
  const most = mostPaintMs.fiveThousand;
  expect(await paintWithin(page, most)).toBeLessThan(most);
  await page.getByLabel("Find a node").fill("agent 4321");
  await page.getByText("1 found").waitFor();
  await page.keyboard.press("Enter");
  await nodeOf(page, "Agent 4321").waitFor();
  await page.locator("#editor-form").getByLabel(/name/i).first().fill("The last one");
  await nodeOf(page, "The last one").waitFor();
  const took: Took = [];
  await measureUse(page, took);
  const mostTask = 1.5 * (await mostTaskMs(page));
  expect(took.filter(([, ms]) => ms > mostTask)).toEqual([]);
}, 600_000);
