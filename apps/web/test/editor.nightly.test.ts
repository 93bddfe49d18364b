import { expect, test } from "bun:test";
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

test("nodes are added, connected, moved, detached and deleted with the mouse, and all is taken back", async () => {
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

test("nodes are added, connected, moved, copied and deleted with the keyboard alone", async () => {
  const page = await openEditor(serving);
  const { keyboard } = page;
  await keyboard.press("a");
  await page.getByRole("dialog", { name: "Add a node" }).locator(":focus").first().waitFor();
  await keyboard.press("a");
  await page.locator(".react-flow__node:focus").filter({ hasText: "Agent" }).waitFor();
  const added = await draftOf(page);
  // Beside the Start, where it would have been on top of it.
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
  // The dialog takes the focus a frame after it shows.
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

test("the form and the text are the same document, and broken text is shown with its line", async () => {
  const page = await openEditor(serving, chain("Writer", "Editor"));
  await nodeOf(page, "Writer").click({ position: { x: 60, y: 14 } });
  const name = page.locator("#editor-form").getByLabel(/name/i).first();
  await name.fill("Author");
  await nodeOf(page, "Author").waitFor();
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
  await page.getByText(/The JSON is broken in line \d+/).waitFor();
  await page
    .getByRole("group", { name: "Add a node" })
    .getByRole("button", { name: "Agent" })
    .click();
  await page.getByText(/fix it there first/).waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText(/The JSON is broken/).waitFor({ state: "detached" });
}, 600_000);

test("several nodes are selected, aligned, laid out, found, and zoomed in steps of ten", async () => {
  const page = await openEditor(serving, chain("Writer", "Editor", "Reader"));
  await page.keyboard.press("Control+a");
  await page.getByText("4 nodes selected").waitFor();
  await page.getByRole("button", { name: "Arrange" }).click();
  await page.getByRole("menuitem", { name: "Align left" }).click();
  await untilDraft(page, ({ nodes }) => nodes.every(({ x }) => x === 0));
  await page.getByRole("button", { name: "Arrange" }).click();
  await page.getByRole("menuitem", { name: "Lay out all" }).click();
  await untilDraft(page, ({ nodes }) => new Set(nodes.map(({ x }) => x)).size === 4);
  await page.getByLabel("Find a node").fill("read");
  await page.getByText("1 found").waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Reader" }).waitFor();
  await page.getByLabel("Find a node").press("Escape");
  await page.keyboard.press("0");
  await page.getByRole("button", { name: "100 %" }).waitFor();
  for (let step = 0; step < 12; step += 1) await page.keyboard.press("+");
  await page.getByRole("button", { name: "200 %" }).waitFor();
  await page.keyboard.press("-");
  await page.getByRole("button", { name: "190 %" }).waitFor();
  expect(await violationsOf(page)).toEqual([]);
}, 600_000);

type Notice = { at: number; text: string };

/** Notes in the page what its notice reads, and from when: a question from outside comes late. */
function noteNotices(): void {
  const all: Notice[] = [];
  Object.assign(globalThis, { notices: all });
  new MutationObserver(() => {
    const text = document.querySelector("[role=alert] p")?.textContent ?? "";
    if (text !== (all.at(-1)?.text ?? "")) all.push({ at: performance.now(), text });
  }).observe(document.body, { childList: true, subtree: true });
}

/** What was noted, once there is so much of it. */
async function notices(page: Page, count: number): Promise<Notice[]> {
  const noted = await page.waitForFunction((least) => {
    const { notices: all } = globalThis as unknown as { notices: Notice[] };
    return all.length >= least && all;
  }, count);
  return (await noted.jsonValue()) || [];
}

test("a line that breaks a rule of subagents adds nothing, and its reason is shown for some seconds", async () => {
  const graph = chain("Writer", "Reader");
  const [, writer] = graph.nodes;
  if (writer) writer.data = { agentName: "Writer", tools: { subagents: true } };
  const page = await openEditor(serving, graph);
  const before = await draftOf(page);
  await page.evaluate(noteNotices);
  await drag(page, portOf(page, "Writer", "subagent"), portOf(page, "Reader", "called"));
  const [shown] = await notices(page, 1);
  expect(shown?.text).toBe(
    "Subagent connection node_2 -> node_3: node_3 is part of the execution connection node_2 -> node_3",
  );
  expect(await draftOf(page)).toEqual(before);
  const [, gone] = await notices(page, 2);
  expect((gone?.at ?? 0) - (shown?.at ?? 0)).toBeGreaterThan(3_500);
}, 600_000);

test("what can't be imported is refused in one line, and nothing is lost", async () => {
  const page = await openEditor(serving, chain("Writer"));
  const cases: [string, string, string, RegExp][] = [
    [
      "photo.png",
      "\u0089PNG",
      "image/png",
      /photo\.png was not imported: it is an image, JSON is expected/,
    ],
    [
      "large.json",
      " ".repeat(1_100_000),
      "application/json",
      /large\.json was not imported: it has more than 1 MB/,
    ],
    ["half.json", '{"nodes": [', "application/json", /half\.json was not imported\. It is no JSON/],
    [
      "flow.json",
      '{"version": "3.16", "steps": []}',
      "application/json",
      /flow\.json was not imported: it is .*step workflow/,
    ],
  ];
  for (const [name, text, type, message] of cases) {
    await importText(page, name, text, type);
    await page.getByRole("alert").filter({ hasText: message }).waitFor();
  }
  await page.evaluate(() => {
    const data = new DataTransfer();
    data.setData("text/plain", '{"some": "thing"}');
    document.body.dispatchEvent(
      new ClipboardEvent("paste", { clipboardData: data, bubbles: true }),
    );
  });
  await page
    .getByRole("alert")
    .filter({ hasText: /What was copied/ })
    .waitFor();
  expect((await draftOf(page)).nodes).toHaveLength(2);
}, 600_000);

/** Drops a file of this machine on the middle of the canvas, as the system does. */
async function dropFile(page: Page, file: string): Promise<void> {
  const { x, y } = await middleOf(page.locator(".react-flow"));
  const devtools = await page.context().newCDPSession(page);
  const data = { items: [], files: [file], dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"] as const) {
    await devtools.send("Input.dispatchDragEvent", { type, x, y, data });
  }
  await devtools.detach();
}

test("a file is imported where it is dropped, and an image is refused in one line", async () => {
  const page = await openEditor(serving, chain("Writer"));
  const folder = mkdtempSync(join(tmpdir(), "uncaged-drop-"));
  const [graph, image] = [join(folder, "team.json"), join(folder, "photo.png")];
  writeFileSync(image, "\u0089PNG");
  writeFileSync(graph, JSON.stringify(chain("Painter", "Framer")));
  await dropFile(page, image);
  const refused = page.getByText("photo.png was not imported: it is an image, JSON is expected.");
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

/** Waits until the conditions of the second node have these values. */
const untilConditions = (page: Page, ...values: string[]): Promise<void> =>
  untilDraft(page, ({ nodes }) => {
    const { conditions = [] } = (nodes[1]?.data ?? {}) as { conditions?: { value: string }[] };
    return JSON.stringify(conditions.map(({ value }) => value)) === JSON.stringify(values);
  });

test("a form completes what is in scope, suggests examples, and edits a list", async () => {
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
  const condition = page
    .getByRole("group", { name: "Add a node" })
    .getByRole("button", { name: "Condition" });
  await importText(page, "start.json", JSON.stringify(chain()));
  await nodeOf(page, "Writer").waitFor({ state: "detached" });
  await condition.click();
  await page.getByRole("heading", { name: "Condition" }).waitFor();
  const values = form.getByLabel("Value", { exact: true });
  // The heading may be there before the fields are.
  await values.first().waitFor();
  const begun = await values.count();
  for (const value of ["yes", "no"]) {
    const before = await values.count();
    await form.getByRole("button", { name: "Add to conditions" }).click();
    await values.nth(before).fill(value);
  }
  await untilConditions(page, ...Array<string>(begun).fill(""), "yes", "no");
  await form.getByRole("button", { name: `Move conditions ${begun + 2} up` }).click();
  await untilConditions(page, ...Array<string>(begun).fill(""), "no", "yes");
  await form.getByRole("button", { name: `Remove conditions ${begun + 1}` }).click();
  await untilConditions(page, ...Array<string>(begun).fill(""), "yes");
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

test("on a telephone the drawing can be seen, moved and zoomed, and not changed", async () => {
  const wide = await openEditor(serving, chain("Writer"));
  await untilDraft(wide, ({ nodes }) => nodes.length === 2);
  await wide.setViewportSize({ width: 380, height: 800 });
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
