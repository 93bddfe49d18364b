import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import type { ThreadRow } from "../../../packages/server/src/entry/api-types.ts";
import { keepPicture, open, useConsoleProcess } from "./browser.ts";
import { importText } from "./editor.ts";
import { byKeyboard, byMouse, stepOf, type StepsHand } from "./steps-hand.ts";
import { violationsOf } from "./violations.ts";

const serving = useConsoleProcess();
const wide = { width: 1600, height: 900 };

const draftOf = async (page: Page): Promise<unknown> => {
  await page.evaluate(() => dispatchEvent(new Event("pagehide")));
  return JSON.parse((await page.evaluate(() => localStorage.getItem("uncaged-steps-"))) ?? "null");
};

const bar = (page: Page) => page.getByRole("group", { name: "Runs" });
const inRun = (page: Page, text: string | RegExp) =>
  page.getByRole("region", { name: "The selected run" }).getByText(text).first();

/** Builds a workflow of a Tool, a Loop with a Branch, and a Stop. */
async function build(page: Page, hand: StepsHand): Promise<void> {
  await hand.press("tab", "Workflow");
  await hand.press("button", "Add to params");
  await hand.write("params 1", 'names([STRING]) = ["Ada", "Grace"]');
  await hand.press("button", "Add to vars");
  await hand.write("vars 1", "$last(STRING)");
  await hand.press("tab", "Settings");
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
    const events = page.getByRole("region", { name: "Events", exact: true });
    await events.getByRole("button", { name: "tool_done" }).waitFor();
    await page.reload();
    await stepOf(page, "Set_1").getByText("done").waitFor();
    await bar(page).getByText("completed").waitFor();
    await hand.pick("Set_1");
    await hand.press("tab", "Data");
    const data = page.getByRole("region", { name: "Data" });
    await data.getByText("Grace").first().waitFor();
    await keepPicture(page, "steps-editor");
    await hand.act("Loop_1", "Run from here…");
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

  test("shows the file unchanged and accessible, wide and narrow, light and dark", async () => {
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

  test("warns of a placeholder of another template language, and of a space before an expression", async () => {
    const flow = {
      version: "3.18",
      name: "literal",
      registry: { params: ["name(STRING)"], vars: ["$a(STRING)", "$b(STRING)"] },
      steps: [
        { id: "Set_A", target: "$a", value: "{{name}}", next: "Set_B" },
        { id: "Set_B", target: "$b", value: " =name", next: "Stop_1" },
        { id: "Stop_1", reason: "=$a + $b" },
      ],
    };
    await serving.add("literal", JSON.stringify(flow), "literal.json");
    const page = await open(serving, "/editor/steps/literal", wide);
    const problems = page.getByRole("list", { name: "Problems" });
    await problems.getByText("{{name}} stays as it is; write =name").waitFor();
    await problems.getByText("the space before = makes this plain text; write =name").click();
    await page.getByRole("heading", { name: "Set_B" }).waitFor();
    await page.getByLabel(/^value/).fill("=name");
    await page.getByText(/the space before =/).waitFor({ state: "detached" });
    expect(await violationsOf(page)).toEqual([]);
  }, 600_000);

  test("shows the question of a Pause, also after a reload, and accepts the answer", async () => {
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
});

const examples = join(import.meta.dir, "../../../examples/steps");

test("a Subflow opens its workflow: a bundled file in a dialog, a registered workflow in the editor", async () => {
  for (const file of ["subflow.json", "subflow-greet.json"]) {
    serving.write(file, readFileSync(join(examples, file), "utf8"));
  }
  expect(await serving.spawn("add", "family", join(serving.folder, "subflow.json")).exited).toBe(0);
  await serving.add(
    "greeter",
    readFileSync(join(examples, "subflow-greet.json"), "utf8"),
    "a.json",
  );
  const page = await open(serving, "/editor/steps/family", wide);
  await stepOf(page, "Subflow_Greet").dblclick({ position: { x: 60, y: 12 } });
  const child = page.getByRole("dialog", { name: "subflow-greet.json" });
  await child.getByText("Set_Greeting").first().waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await child.waitFor({ state: "detached" });
  const caller = {
    ...{ version: "3.18", name: "caller", registry: { params: [], vars: [] } },
    steps: [
      { id: "Subflow_1", input: { workflow_path: "greeter" }, next: "Stop_1" },
      { id: "Stop_1" },
    ],
  };
  await importText(page, "caller.json", JSON.stringify(caller));
  await stepOf(page, "Subflow_Greet").waitFor({ state: "detached" });
  await stepOf(page, "Subflow_1").dblclick({ position: { x: 60, y: 12 } });
  await page.waitForURL(/editor\/steps\/greeter/);
  await stepOf(page, "Set_Greeting").waitFor();
}, 600_000);
