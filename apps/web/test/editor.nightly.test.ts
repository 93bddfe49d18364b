import { beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { open, useConsole } from "./browser.ts";
import { chain, draftOf, importText, nodeOf, openEditor, portOf, untilDraft } from "./editor.ts";
import { keyboard as hand } from "./hand.ts";
import { drag, middleOf } from "./pointer.ts";
import { violationsOf } from "./violations.ts";

const serving = useConsole();

test("nodes are added, connected, moved, detached and deleted by mouse, and all is undone", async () => {
  const page = await openEditor(serving);
  const canvas = page.locator(".react-flow");
  const center = await middleOf(canvas);
  const agent = page
    .getByRole("group", { name: "Add a node" })
    .getByRole("button", { name: "Agent" });
  await agent.dragTo(canvas, { targetPosition: { x: 420, y: 500 } });
  await untilDraft(page, ({ nodes }) => nodes.length === 2);
  const before = await draftOf(page);
  await drag(page, portOf(page, "Start", "output"), portOf(page, "Agent", "input"));
  await untilDraft(page, ({ connections }) => connections.length === 1);
  await drag(page, nodeOf(page, "Agent").locator("svg").first(), {
    x: center.x,
    y: center.y + 220,
  });
  await untilDraft(page, ({ nodes }) => nodes[1]?.y !== before.nodes[1]?.y);
  const end = page.locator(".react-flow__edgeupdater-target");
  await drag(page, end, { x: center.x - 150, y: center.y - 300 });
  await untilDraft(page, ({ connections }) => connections.length === 0);
  await nodeOf(page, "Agent").click({ position: { x: 60, y: 14 } });
  await page.getByRole("button", { name: "Delete Agent" }).click();
  await untilDraft(page, ({ nodes }) => nodes.length === 1);
  for (let step = 0; step < 5; step += 1) await page.getByRole("button", { name: "Undo" }).click();
  await untilDraft(page, ({ nodes }) => nodes.length === 1);
  expect(await page.getByRole("button", { name: "Undo" }).isDisabled()).toBe(true);
  await page.getByRole("button", { name: "Redo" }).click();
  await untilDraft(page, ({ nodes }) => nodes.length === 2);
}, 600_000);

test("nodes are added, connected, moved, copied and deleted by keyboard alone", async () => {
  const page = await openEditor(serving);
  const { keyboard } = page;
  await keyboard.press("a");
  await page.getByRole("dialog", { name: "Add a node" }).locator(":focus").first().waitFor();
  await keyboard.press("a");
  await page.locator(".react-flow__node:focus").filter({ hasText: "Agent" }).waitFor();
  const added = await draftOf(page);
  // The new node is next to the Start, not on top of it.
  expect((added.nodes[1]?.x ?? 0) - (added.nodes[0]?.x ?? 0)).toBe(300);
  await keyboard.press("ArrowRight");
  await keyboard.press("Shift+ArrowDown");
  await untilDraft(
    page,
    ({ nodes }) =>
      nodes[1]?.x === (added.nodes[1]?.x ?? 0) + 10 && nodes[1].y === (added.nodes[1]?.y ?? 0) + 50,
  );
  await keyboard.press("Shift+Tab");
  await page.locator(".react-flow__node:focus").filter({ hasText: "Start" }).waitFor();
  await keyboard.press("c");
  // The dialog takes the focus one frame after it appears.
  const connecting = page.getByRole("dialog", { name: "Connect Start" });
  await connecting.locator(":focus").first().waitFor();
  await hand(page).press("button", "Connect", connecting);
  await untilDraft(page, ({ connections }) => connections[0]?.target === added.nodes[1]?.id);
  await page.locator(".react-flow__node:focus").waitFor();
  await keyboard.press("Tab");
  await keyboard.press("Control+c");
  await keyboard.press("Control+v");
  await untilDraft(page, ({ nodes }) => nodes.length === 3);
  await keyboard.press("Control+d");
  await untilDraft(page, ({ nodes }) => nodes.length === 4);
  await keyboard.press("Delete");
  await untilDraft(page, ({ nodes }) => nodes.length === 3);
  await keyboard.press("Control+a");
  await keyboard.press("Delete");
  await untilDraft(page, ({ nodes }) => nodes.length === 1);
  await keyboard.press("Control+z");
  await untilDraft(
    page,
    ({ nodes, connections }) => nodes.length === 3 && connections.length === 1,
  );
  await keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys of the editor" }).waitFor();
}, 600_000);

test("the form and the text edit the same document, and invalid text is reported with its line", async () => {
  const page = await openEditor(serving, chain("Writer", "Editor"));
  await nodeOf(page, "Writer").click({ position: { x: 60, y: 14 } });
  const name = page.locator("#editor-form").getByLabel(/name/i).first();
  await name.fill("Author");
  await nodeOf(page, "Author").waitFor();
  await page.getByRole("button", { name: "JSON" }).click();
  const text = page.getByRole("textbox", { name: "JSON of the graph" });
  await text.getByText('"Author"').waitFor();
  await name.press("Control+z");
  await nodeOf(page, "Writer").waitFor();
  await text.getByText('"Editor"').dblclick();
  await page.keyboard.type("Reader");
  await nodeOf(page, "Reader").waitFor();
  await text.getByText('"Writer"').click();
  await page.getByRole("heading", { name: "Writer" }).waitFor();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("x");
  await page.getByText(/Invalid JSON in line \d+/).waitFor();
  await page
    .getByRole("group", { name: "Add a node" })
    .getByRole("button", { name: "Agent" })
    .click();
  await page.getByText(/fix it first/).waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText(/Invalid JSON in line/).waitFor({ state: "detached" });
}, 600_000);

/** Drops a file on the middle of the canvas. */
async function dropFile(page: Page, file: string): Promise<void> {
  const { x, y } = await middleOf(page.locator(".react-flow"));
  const devtools = await page.context().newCDPSession(page);
  const data = { items: [], files: [file], dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"] as const) {
    await devtools.send("Input.dispatchDragEvent", { type, x, y, data });
  }
  await devtools.detach();
}

test("a dropped file is imported, and an image is refused in one line", async () => {
  const page = await openEditor(serving, chain("Writer"));
  const folder = mkdtempSync(join(tmpdir(), "uncaged-drop-"));
  const [graph, image] = [join(folder, "team.json"), join(folder, "photo.png")];
  writeFileSync(image, "\u0089PNG");
  writeFileSync(graph, JSON.stringify(chain("Painter", "Framer")));
  await dropFile(page, image);
  const refused = page.getByText("photo.png was not imported: expected JSON, not an image.");
  await refused.waitFor();
  expect(await page.getByRole("alert").count()).toBe(1);
  expect((await draftOf(page)).nodes).toHaveLength(2);
  await dropFile(page, graph);
  await nodeOf(page, "Framer").waitFor();
  expect(page.url()).toContain("/editor/graph");
  await page.getByRole("button", { name: "Undo" }).click();
  await nodeOf(page, "Writer").waitFor();
  rmSync(folder, { recursive: true });
}, 600_000);

test("a form completes names in scope and suggests examples", async () => {
  const page = await openEditor(serving, chain("Writer"));
  await nodeOf(page, "Writer").click({ position: { x: 60, y: 14 } });
  const form = page.locator("#editor-form");
  const prompt = form.getByLabel(/user prompt/i);
  await prompt.click();
  await page.keyboard.type("Use {{p");
  await page.getByRole("option", { name: /PREVIOUS_OUTPUT/ }).waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.keyboard.press("Enter");
  await page.keyboard.type("!");
  expect(await prompt.inputValue()).toBe("Use {{PREVIOUS_OUTPUT}}!");
  const offered = await form
    .locator("input[list]")
    .evaluateAll((inputs: HTMLInputElement[]) =>
      inputs.flatMap(({ list }) => [...(list?.options ?? [])].map(({ value }) => value)),
    );
  expect(offered.length).toBeGreaterThan(0);
}, 600_000);

test("a draft survives a reload, and two tabs notice each other", async () => {
  const page = await openEditor(serving, chain("Writer"));
  await untilDraft(page, ({ nodes }) => nodes.length === 2);
  await page.reload();
  await nodeOf(page, "Writer").waitFor();
  const other = await open(serving, "/editor/graph", { width: 1440, height: 900 });
  await nodeOf(other, "Writer").waitFor();
  await importText(other, "other.json", JSON.stringify(chain("Painter")));
  await nodeOf(other, "Painter").waitFor();
  await page.getByText("Another tab has changed this draft").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole("button", { name: "Take its changes" }).click();
  await nodeOf(page, "Painter").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await nodeOf(page, "Writer").waitFor();
  const noticed = other.getByText("Another tab has changed this draft");
  await noticed.waitFor();
  await other.getByRole("button", { name: "Keep mine" }).click();
  await noticed.waitFor({ state: "detached" });
  await page.getByText("Another tab has changed this draft").waitFor();
  await page.close();
  await other.reload();
  await nodeOf(other, "Painter").waitFor();
}, 600_000);

test("on a phone the drawing can be viewed, moved and zoomed, but not changed", async () => {
  const wide = await openEditor(serving, chain("Writer"));
  await untilDraft(wide, ({ nodes }) => nodes.length === 2);
  await wide.setViewportSize({ width: 380, height: 800 });
  await wide.getByRole("button", { name: "Show all" }).click();
  await nodeOf(wide, "Start").click({ position: { x: 30, y: 14 } });
  await wide.getByRole("heading", { name: "Start" }).waitFor();
  await wide.getByRole("button", { name: "Zoom in" }).click();
  expect(await wide.getByRole("button", { name: "Undo" }).count()).toBe(0);
  await wide.keyboard.press("Delete");
  expect((await draftOf(wide)).nodes).toHaveLength(2);
  const overflow = await wide.evaluate(
    () => document.documentElement.scrollWidth > document.documentElement.clientWidth,
  );
  expect(overflow).toBe(false);
  expect(await violationsOf(wide)).toEqual([]);
}, 600_000);

/** A chain in rows, as a person would arrange it. */
function rows(count: number): string {
  const graph = chain(...Array.from({ length: count - 1 }, (_, index) => `Agent ${index + 1}`));
  const nodes = graph.nodes.map((node, index) => ({
    ...node,
    x: (index % 20) * 280,
    y: Math.floor(index / 20) * 160,
  }));
  return JSON.stringify({ ...graph, nodes }, null, 2);
}

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

/** A chain between opposite corners of a drawing that is larger than any window. */
function diagonal() {
  const names = ["First", ...Array.from({ length: 20 }, (_, at) => `Agent ${at + 2}`), "Last"];
  const { nodes, connections } = chain(...names);
  return { nodes: nodes.map((node, at) => ({ ...node, x: at * 500, y: at * 340 })), connections };
}

test("a press and a drag in the overview move the view", async () => {
  const page = await openEditor(serving, diagonal());
  const [first, last] = [nodeOf(page, "First"), nodeOf(page, "Last")];
  await page.getByRole("button", { name: "Show all" }).first().click();
  await first.waitFor();
  // Nodes out of view are not elements.
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

const textOf = (...names: string[]): string => `${JSON.stringify(chain(...names), null, 2)}\n`;

beforeAll(async () => {
  await serving.add("team", textOf("Writer", "Editor"), "team.json");
}, 600_000);

const openTeam = async (): Promise<Page> => {
  const page = await open(serving, "/workflows/team", { width: 1440, height: 900 });
  await page.getByRole("link", { name: "Edit" }).click();
  await nodeOf(page, "Writer").waitFor();
  return page;
};

const currentText = async (): Promise<string> =>
  (await serving.ok<{ text: string }>("/api/bundles/team/document")).text;

async function save(page: Page): Promise<void> {
  await page.getByRole("button", { name: /^Save/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
}

test("of two tabs that save at once, the second shows both versions as a choice", async () => {
  const first = await openTeam();
  const second = await openTeam();
  expect(await currentText()).toBe(textOf("Writer", "Editor"));
  await importText(first, "a.json", textOf("Writer", "Checker"));
  await save(first);
  await first.getByText("Saved as a version of team").waitFor();
  expect(await currentText()).toBe(textOf("Writer", "Checker"));
  await importText(second, "b.json", textOf("Writer", "Editor", "Printer"));
  await nodeOf(second, "Printer").waitFor();
  await second.reload();
  await nodeOf(second, "Printer").waitFor();
  await save(second);
  const dialog = second.getByRole("dialog", { name: "Another version was saved meanwhile" });
  await dialog.waitFor();
  await dialog.getByText(/1 node added/).waitFor();
  expect(await currentText()).toBe(textOf("Writer", "Checker"));
  expect(await violationsOf(second)).toEqual([]);
  await dialog.getByRole("button", { name: "Save mine on top" }).click();
  await second.getByText("Saved as a version of team").waitFor();
  expect(await currentText()).toBe(textOf("Writer", "Editor", "Printer"));
  await second.getByRole("button", { name: "Versions" }).click();
  const versions = second.getByRole("dialog", { name: "Versions of team" });
  await versions.getByText("No visible differences.").waitFor();
  const [, before] = await serving.ok<{ hash: string }[]>("/api/workflows/team/history");
  await versions.getByLabel("Version", { exact: true }).selectOption(before?.hash ?? "");
  await versions.getByText("1 node added, 1 node changed, 1 line added").waitFor();
  expect(await violationsOf(second)).toEqual([]);
}, 600_000);
