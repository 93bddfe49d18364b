import { describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import type { ThreadRow } from "../../server/src/api-types.ts";
import { keepPicture, open, useConsole } from "./browser.ts";
import { byKeyboard, byMouse, stepOf, type StepsHand } from "./steps-hand.ts";
import { violationsOf } from "./violations.ts";

const serving = useConsole();
const wide = { width: 1600, height: 900 };

const draftOf = async (page: Page): Promise<unknown> => {
  await page.evaluate(() => dispatchEvent(new Event("pagehide")));
  return JSON.parse((await page.evaluate(() => localStorage.getItem("uncaged-steps-"))) ?? "null");
};

const bar = (page: Page) => page.getByRole("group", { name: "Runs" });
const inRun = (page: Page, text: string | RegExp) =>
  page.getByRole("region", { name: "The selected run" }).getByText(text).first();

/** Builds a workflow of a Tool, a Loop with a Branch, and a Stop, from nothing. */
async function build(page: Page, hand: StepsHand): Promise<void> {
  await hand.press("tab", "Workflow");
  await hand.press("button", "Add to params");
  await hand.write("params 1", 'names([STRING]) = ["Ada", "Grace"]');
  await hand.press("button", "Add to vars");
  await hand.write("vars 1", "$last(STRING)");
  await hand.press("tab", "Node");
  await hand.add("Tool", "t");
  await hand.act("Tool_1", "Tool…");
  const dialog = page.getByRole("dialog");
  await hand.choose(/^tool/, "WriteFile");
  await hand.write("file_path", "names.txt");
  await hand.write("content", "='of ' + names.length");
  await hand.press("button", "Done", dialog);
  await dialog.waitFor({ state: "detached" });
  await hand.pick(null);
  await hand.add("Loop", "l");
  await hand.write(/^source/, "=names");
  await hand.add("Branch", "b");
  await hand.add("Set", "s");
  await hand.write(/^value/, "=_item");
  await hand.pick("Branch_1");
  await hand.write("When", "_index == 1");
  await hand.pick(null);
  await hand.add("Stop", "e");
  await hand.write(/^reason/, "='last: ' + $last");
  await hand.connect("Tool_1", "Loop_1");
  await hand.connect("Loop_1", "Stop_1");
}

const built = {
  version: "3.18",
  name: "new-workflow",
  registry: { params: ['names([STRING]) = ["Ada", "Grace"]'], vars: ["$last(STRING)"] },
  steps: [
    {
      id: "Tool_1",
      tool: "WriteFile",
      input: { file_path: "names.txt", content: "='of ' + names.length" },
      next: "Loop_1",
    },
    { id: "Loop_1", source: "=names", children: ["Branch_1"], next: "Stop_1" },
    { id: "Branch_1", cases: [["_index == 1", "Set_1"]], next: "RETURN" },
    { id: "Set_1", target: "$last", value: "=_item", next: "RETURN" },
    { id: "Stop_1", reason: "='last: ' + $last" },
  ],
};

describe.each([
  { by: "mouse", handOf: byMouse },
  { by: "keyboard", handOf: byKeyboard },
])("by $by alone", ({ handOf }) => {
  test("a workflow is built from nothing, run, reloaded, and run from a step with other values", async () => {
    const page = await open(serving, "/editor/steps", wide);
    const hand = handOf(page);
    await page.getByRole("button", { name: "Run", exact: true }).waitFor();
    await build(page, hand);
    expect(await draftOf(page)).toEqual(built);
    await hand.press("button", "Run");
    await hand.press("button", "Run", page.getByRole("dialog"));
    await inRun(page, "last: Grace").waitFor();
    await stepOf(page, "Set_1").getByText("done").waitFor();
    await hand.press("tab", "Events");
    const events = page.getByRole("region", { name: "Events of the run" });
    await events.getByText("tool_done").first().waitFor();
    await events.getByText("checkpoint").first().waitFor();
    await page.reload();
    await stepOf(page, "Set_1").getByText("done").waitFor();
    await bar(page).getByText("completed").waitFor();
    await keepPicture(page, "steps-editor");
    await hand.act("Loop_1", "Run from here…");
    await hand.press("button", "Edit names", page.getByRole("dialog"));
    await hand.write("names as JSON", '["Ada", "Alan"]');
    await hand.press("button", "Run from here", page.getByRole("dialog"));
    await inRun(page, "last: Alan").waitFor();
    expect(await bar(page).getByRole("button", { pressed: true }).textContent()).toContain(
      "From Loop_1",
    );
    const threads = await serving.ok<ThreadRow[]>("/api/threads?limit=2");
    expect(threads.map(({ status }) => status)).toEqual(["completed", "completed"]);
  }, 600_000);
});

describe("the editor of a saved step workflow", () => {
  const notes = readFileSync(
    join(import.meta.dir, "../../../examples/release-notes/flow.json"),
    "utf8",
  );

  test("shows it without a byte changed and without a violation, wide and narrow, light and dark", async () => {
    await serving.add("notes", notes, "flow.json");
    const page = await open(serving, "/editor/steps/notes", wide);
    await stepOf(page, "Tool_LastTag").waitFor();
    const find = page.getByLabel("Find a node");
    await find.fill("Pause_Approve");
    await find.press("Enter");
    await page.getByRole("heading", { name: "Ask for approval" }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    for (const tab of ["Run", "Events", "Workflow"]) {
      await page.getByRole("tab", { name: tab }).click();
      expect([tab, await violationsOf(page)]).toEqual([tab, []]);
    }
    await page.getByRole("button", { name: "Saved" }).waitFor();
    const saved = await serving.ok<{ text: string }>("/api/bundles/notes/document");
    expect(saved.text).toBe(notes);
    const dark = await open(serving, "/editor/steps/notes", { ...wide, theme: "dark" });
    await stepOf(dark, "Tool_LastTag").click();
    await dark.getByRole("button", { name: "Tool…" }).click();
    await dark.getByRole("dialog").getByText("argv").first().waitFor();
    expect(await violationsOf(dark)).toEqual([]);
    const narrow = await open(serving, "/editor/steps/notes", { width: 380, height: 720 });
    await stepOf(narrow, "Tool_LastTag").waitFor();
    await stepOf(narrow, "Tool_LastTag").click();
    await narrow.getByRole("button", { name: "Run from here…" }).waitFor();
    expect(await narrow.getByRole("button", { name: /Rename|Tool…/ }).count()).toBe(0);
    await narrow.getByRole("button", { name: "Run", exact: true }).click();
    await narrow.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    expect(await violationsOf(narrow)).toEqual([]);
    const scrolls = () =>
      document.documentElement.scrollWidth > document.documentElement.clientWidth;
    expect(await narrow.evaluate(scrolls)).toBe(false);
  }, 600_000);

  test("asks the question of a Pause, and is reloaded while it waits", async () => {
    const flow = {
      version: "3.18",
      name: "ask",
      registry: { params: [], vars: ["$answer(STRING)"] },
      steps: [
        { id: "Pause_1", reason: "Which colour?", resumeResultTarget: "$answer", next: "Stop_1" },
        { id: "Stop_1", reason: "=$answer" },
      ],
    };
    await serving.add("ask", JSON.stringify(flow), "ask.json");
    const page = await open(serving, "/editor/steps/ask", wide);
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await inRun(page, "Which colour?").waitFor();
    await page.reload();
    await stepOf(page, "Pause_1").getByText("waiting").waitFor();
    await page.getByRole("tab", { name: "Run" }).click();
    await page.getByLabel("Your answer").fill("blue");
    await page.getByRole("button", { name: "Answer" }).click();
    await inRun(page, "blue").waitFor();
    await page.getByRole("button", { name: "Forget Run" }).click();
    await bar(page).waitFor({ state: "detached" });
  }, 600_000);

  test("keeps a step where it is dropped, and leads from its events to the form of a step", async () => {
    const page = await open(serving, "/editor/steps", wide);
    const noop = page
      .getByRole("group", { name: "Add a node" })
      .getByRole("button", { name: "Noop", exact: true });
    const canvas = page.locator(".react-flow");
    await noop.dragTo(canvas, { targetPosition: { x: 500, y: 300 } });
    await noop.dragTo(canvas, { targetPosition: { x: 200, y: 120 } });
    await stepOf(page, "Noop_2").waitFor();
    const { steps } = (await draftOf(page)) as {
      steps: { id: string; meta: { x: number; y: number } }[];
    };
    const [first, second] = steps.map(({ meta }) => meta);
    if (!first || !second) throw new Error("two steps were dropped");
    expect([first.x - second.x, first.y - second.y]).toEqual([300, 180]);
    await page.getByRole("tab", { name: "Events" }).click();
    await stepOf(page, "Noop_1").click({ position: { x: 60, y: 12 } });
    await page.getByRole("button", { name: "Show the selected node" }).click();
    await page.getByRole("heading", { name: "Noop_1" }).waitFor();
  }, 600_000);

  test("pauses, goes on with and cancels a run, which a reload finds while a step works", async () => {
    const folder = mkdtempSync(join(tmpdir(), "uncaged-run-"));
    const until = (file: string) => `until [ -e ${join(folder, file)} ]; do sleep 0.05; done`;
    const tool = (id: string, file: string, next: string) => ({
      ...{ id, tool: "RunCommand", input: { argv: ["sh", "-c", until(file)] }, next },
    });
    const flow = {
      ...{ version: "3.18", name: "slow", registry: { params: [], vars: [] } },
      steps: [tool("Tool_1", "one", "Tool_2"), tool("Tool_2", "two", "Stop_1"), { id: "Stop_1" }],
    };
    await serving.add("slow", JSON.stringify(flow), "slow.json");
    const page = await open(serving, "/editor/steps/slow", wide);
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await stepOf(page, "Tool_1").getByText("running").waitFor();
    await page.reload();
    await stepOf(page, "Tool_1").getByText("running").waitFor();
    await page.getByRole("tab", { name: "Run" }).click();
    const run = page.getByRole("region", { name: "The selected run" });
    const heard = page.waitForResponse((response) => response.url().endsWith("/pause"));
    await run.getByRole("button", { name: "Pause" }).click();
    expect((await heard).ok()).toBe(true);
    await run.getByText("pausing").waitFor();
    await run.getByRole("button", { name: "Resume" }).click();
    await run.getByRole("button", { name: "Pause" }).click();
    await run.getByText("pausing").waitFor();
    // A page that did not ask for it knows it too.
    const address = await run.getByRole("link", { name: "Its thread" }).getAttribute("href");
    const other = await open(serving, address ?? "");
    await other.getByText("pausing").waitFor();
    await other.getByRole("button", { name: "Resume" }).click();
    await other.getByText("pausing").waitFor({ state: "detached" });
    await run.getByText("pausing").waitFor({ state: "detached" });
    await other.getByRole("button", { name: "Pause" }).click();
    await run.getByText("pausing").waitFor();
    writeFileSync(join(folder, "one"), "");
    await run.getByText("paused").waitFor();
    await other.getByText("pausing").waitFor({ state: "detached" });
    await stepOf(page, "Tool_1").getByText("done").waitFor();
    await run.getByRole("button", { name: "Resume" }).click();
    await stepOf(page, "Tool_2").getByText("running").waitFor();
    await run.getByRole("button", { name: "Cancel" }).click();
    await bar(page).getByText("killed").waitFor();
    rmSync(folder, { recursive: true });
    const [thread] = await serving.ok<ThreadRow[]>("/api/threads?limit=1");
    expect([thread?.status, thread?.steps]).toEqual(["killed", 1]);
  }, 600_000);

  test("shows a run that it started where the browser keeps nothing", async () => {
    const page = await open(serving, "/editor/steps", wide);
    await page.addInitScript(() => {
      Object.defineProperty(window, "localStorage", {
        get: () => {
          throw new DOMException("The request was denied.", "SecurityError");
        },
      });
    });
    await page.reload();
    await page
      .getByRole("group", { name: "Add a node" })
      .getByRole("button", { name: "Stop", exact: true })
      .click();
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await bar(page).getByText("completed").waitFor();
  }, 600_000);

  test("compares versions as pictures, and no dialog or menu of it has a violation", async () => {
    const step = (id: string, next: string) => ({ id, target: "$x", value: "1", next });
    const flow = (...steps: object[]) =>
      JSON.stringify({
        ...{ version: "3.18", name: "versions", steps },
        registry: { params: ["names([STRING])"], vars: ["$x(STRING)"] },
      });
    const stop = { id: "Stop_1" };
    await serving.add("versions", flow(step("Set_1", "Stop_1"), stop), "flow.json");
    const changed = flow(step("Set_1", "Set_2"), step("Set_2", "Stop_1"), stop);
    await serving.add("versions", changed, "flow.json");
    const page = await open(serving, "/editor/steps/versions", wide);
    await stepOf(page, "Set_1").waitFor();
    const dialog = page.getByRole("dialog");
    const close = async () => {
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
    };
    await page.getByRole("button", { name: "Versions" }).click();
    await dialog.getByText("They are drawn the same.").waitFor();
    const [, before] = await serving.ok<{ hash: string }[]>("/api/workflows/versions/history");
    await dialog.getByLabel("Version", { exact: true }).selectOption(before?.hash ?? "");
    await dialog.getByText(/1 node added/).waitFor();
    await dialog.getByText("added", { exact: true }).first().waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await close();
    await stepOf(page, "Set_1").click({ button: "right", position: { x: 60, y: 12 } });
    await page.getByRole("menuitem", { name: "Rename…" }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("menu").waitFor({ state: "detached" });
    for (const name of ["Rename…", "Run from here…", "Run"]) {
      await page.getByRole("button", { name, exact: true }).click();
      await dialog.waitFor();
      expect([name, await violationsOf(page)]).toEqual([name, []]);
      await close();
    }
  }, 600_000);
});
