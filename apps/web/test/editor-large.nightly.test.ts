import { expect, test } from "bun:test";
import { useConsole } from "./browser.ts";
import { chain, importText, nodeOf, openEditor, untilDraft } from "./editor.ts";

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

test("500 nodes run, and earlier lines of the log are shown on request", async () => {
  const page = await openEditor(serving);
  await importText(page, "conditions.json", conditions(500));
  await untilDraft(page, ({ nodes }) => nodes.length === 500);
  await page.getByRole("tab", { name: "Run" }).click();
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("status", { name: "Run: Completed" }).waitFor();
  const checked = page.getByRole("log").getByText("evaluated as true");
  expect(await checked.count()).toBe(30);
  await page.getByRole("button", { name: "Show 30 earlier" }).click();
  await checked.nth(59).waitFor();
}, 600_000);

test("5,000 nodes open, and can be found and edited", async () => {
  const page = await openEditor(serving);
  await page.evaluate((draft) => {
    localStorage.setItem("agentflow-workflow", draft);
  }, rows(5_000));
  await page.reload();
  await page.getByLabel("Find a node").fill("agent 4321");
  await page.getByText("1 found").waitFor();
  await page.keyboard.press("Enter");
  await nodeOf(page, "Agent 4321").waitFor();
  await page.locator("#editor-form").getByLabel(/name/i).first().fill("The last one");
  await nodeOf(page, "The last one").waitFor();
}, 600_000);

/** A chain from the one corner of a drawing that no window holds to the other one. */
function diagonal() {
  const names = ["First", ...Array.from({ length: 20 }, (_, at) => `Agent ${at + 2}`), "Last"];
  const { nodes, connections } = chain(...names);
  return { nodes: nodes.map((node, at) => ({ ...node, x: at * 500, y: at * 340 })), connections };
}

test("pressing in the overview goes there, and so does moving in it", async () => {
  const page = await openEditor(serving, diagonal());
  const [first, last] = [nodeOf(page, "First"), nodeOf(page, "Last")];
  await page.getByRole("button", { name: "Show all" }).first().click();
  await first.waitFor();
  // What is out of view is no element.
  expect(await last.count()).toBe(0);
  const overview = page.getByRole("img", { name: "Overview of the drawing" });
  await overview.click({ position: { x: 170, y: 114 } });
  await last.waitFor();
  await first.waitFor({ state: "detached" });
  await overview.dragTo(overview, {
    sourcePosition: { x: 150, y: 100 },
    targetPosition: { x: 12, y: 10 },
  });
  await first.waitFor();
  await last.waitFor({ state: "detached" });
}, 600_000);
