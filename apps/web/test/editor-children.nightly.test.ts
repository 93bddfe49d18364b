import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { open, useConsole } from "./browser.ts";
import { draftOf, importText, openEditor } from "./editor.ts";
import { stepOf } from "./steps-hand.ts";
import { violationsOf } from "./violations.ts";

const serving = useConsole();
const examples = join(import.meta.dir, "../../../examples/steps");

test("a Subflow opens the workflow that it runs: a file of its version to be seen, a registered one to be edited", async () => {
  for (const file of ["subflow.json", "subflow-greet.json"]) {
    serving.write(file, readFileSync(join(examples, file), "utf8"));
  }
  expect(await serving.spawn("add", "family", join(serving.folder, "subflow.json")).exited).toBe(0);
  await serving.add(
    "greeter",
    readFileSync(join(examples, "subflow-greet.json"), "utf8"),
    "a.json",
  );
  const page = await open(serving, "/editor/steps/family", { width: 1600, height: 900 });
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

test("a graph of a newer version is kept and reported, and names of JavaScript are names", async () => {
  const page = await openEditor(serving);
  const newer =
    '{ "version": 2, "groups": [1.0], "nodes": [{"id": "s", "type": "start", "x": 0, "y": 0}], "connections": [] }';
  await importText(page, "newer.json", newer);
  await page.getByRole("button", { name: "1 problem" }).click();
  await page.getByText("the graph is of version 2 of the format").waitFor();
  const odd =
    '{ "__proto__": {"nodes": 1}, "nodes": [{"id": "s", "type": "start", "x": 0, "y": 0},\n {"id": "constructor", "type": "agent", "x": 300, "y": 0, "data": {"__proto__": {"agentName": "no"}}}], "connections": [{"source": "s", "target": "constructor"}] }';
  await importText(page, "odd.json", odd);
  await page
    .locator('.react-flow__node[data-id="constructor"]')
    .click({ position: { x: 60, y: 12 } });
  await page.locator("#editor-form").getByLabel(/^Name/).fill("Ada");
  await page.locator('.react-flow__node[data-id="constructor"]').getByText("Ada").waitFor();
  await page.getByRole("button", { name: "Undo", exact: true }).click();
  const stored = () => {
    dispatchEvent(new Event("pagehide"));
    return localStorage.getItem("agentflow-workflow");
  };
  expect(await page.evaluate(stored)).toBe(odd);
  expect((await draftOf(page)).nodes).toHaveLength(2);
  expect(await page.evaluate(() => "agentName" in {})).toBe(false);
}, 600_000);
