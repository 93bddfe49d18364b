import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Bundle, ThreadRow, Workflow } from "@uncaged/workflow-server/api-types";
import type { Locator } from "playwright-core";
import { bundleOf } from "../../../packages/workflow/test/fixtures/bundles.ts";
import { unsealed } from "../../../packages/workflow/test/fixtures/records.ts";
import { open, useConsoleProcess } from "./browser.ts";
import { middleOf } from "./pointer.ts";
import { violationsOf } from "./violations.ts";

const serving = useConsoleProcess();

const source = (description: string, roles = "greeter") => `type Input = { prompt: string };
export const descriptor = {
  description: "${description}",
  roles: { ${roles}: { description: "greets", schema: true } },
};
export async function* run({ prompt }: Input) {
  yield { role: "${roles}", content: prompt, meta: {} };
  return { returnCode: 0, summary: "" };
}
`;

const file = (name: string, text: string) => ({
  name,
  mimeType: "text/plain",
  buffer: Buffer.from(text),
});

test("a file's problems are shown at their line; the corrected file is added, and removed again", async () => {
  const page = await open(serving, "/add");
  const chooser = page.getByLabel(/Drop a file here/);
  const broken = source("greets").replace("prompt, meta", "prompt,, meta");
  await chooser.setInputFiles(file("greet.ts", broken));
  await page.getByLabel("Name").waitFor();
  expect(await page.getByLabel("Name").inputValue()).toBe("greet");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  const problems = page.getByRole("alert", { name: "Problems" });
  await problems.getByRole("group", { name: "greet.ts, line 7" }).waitFor();
  await problems.getByText("prompt,, meta").waitFor();

  await page
    .getByLabel("greet.ts", { exact: true })
    .setInputFiles(file("greet.ts", source("greets")));
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByText("greet was added").waitFor();
  await page.getByRole("link", { name: "Open greet" }).click();
  await page.getByRole("article", { name: /^Version/ }).waitFor();
  await page.getByRole("button", { name: "More actions", exact: true }).click();
  await page.getByRole("menuitem", { name: "Remove…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await page.getByRole("heading", { name: "Workflows" }).waitFor();
  expect((await serving.fetch("/api/workflows/greet")).status).toBe(404);
}, 600_000);

test("a dropped file is added, and the typed name is kept for a corrected file", async () => {
  const page = await open(serving, "/add");
  const drop = async (zone: Locator, name: string) => {
    const { x, y } = await middleOf(zone);
    const session = await page.context().newCDPSession(page);
    const data = { items: [], files: [join(serving.folder, name)], dragOperationsMask: 1 };
    for (const type of ["dragEnter", "dragOver", "drop"] as const) {
      await session.send("Input.dispatchDragEvent", { type, x, y, data });
    }
  };
  serving.write("notes.txt", "");
  await drop(page.getByText("Drop a file here"), "notes.txt");
  await page.getByRole("alert").getByText("This file can't be added.").waitFor();
  serving.write("asks.ts", source("asks").replace("prompt, meta", "prompt,, meta"));
  await drop(page.getByText("notes.txt"), "asks.ts");
  await page.getByLabel("Name").fill("asker");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("group", { name: "asks.ts, line 7" }).waitFor();
  serving.write("asks.ts", source("asks"));
  await drop(page.getByText("asks.ts", { exact: true }).first(), "asks.ts");
  expect(await page.getByLabel("Name").inputValue()).toBe("asker");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByText("asker was added").waitFor();
  const { sources } = await serving.ok<Bundle>("/api/bundles/asker");
  expect(sources).toEqual(["asks.ts"]);
}, 600_000);

test("the list of threads counts the threads of a version and of all versions", async () => {
  await serving.add("many", source("many"), "many.ts");
  const id = await serving.run("many");
  const { hash, threadId } = await serving.until(id, "completed");
  const path = join(serving.path, "logs", hash, `${threadId}.data.jsonl`);
  const log = readFileSync(path, "utf8").split("\n").map(unsealed).join("\n");
  for (let n = 0; n < 120; n += 1) {
    const copy = `${threadId.slice(0, -3)}${String(n).padStart(3, "0")}`;
    serving.write(`root/logs/${hash}/${copy}.data.jsonl`, log.replaceAll(threadId, copy));
  }
  const page = await open(serving, `/?workflow=${hash}`);
  await page.getByText(/^112 of 12[01] threads$/).waitFor();
  await page.goto(`http://127.0.0.1:${serving.port}/?workflow=many`);
  await page.getByText("the newest 112 threads").waitFor();
  await page.mouse.wheel(0, 20_000);
  await page.getByText(/^12[01] threads$/).waitFor();
}, 600_000);

/** A workflow that fails with the option `bad`, unless `fix` evaluates to "fixed". */
const fragile = (fix: string) =>
  bundleOf(`
  yield step("check", "an order");
  if (options.bad && ${fix} !== "fixed") throw new Error("the order has no date");
  yield step("write", "done");
`);

test("the figures of versions show which version fails; failed threads are tried on another version, and the name is rolled back", async () => {
  await serving.add("orders", fragile('"fixed"'));
  const { hash: good } = await serving.ok<Workflow>("/api/workflows/orders");
  await serving.add("orders", fragile('"broken"'));
  for (const bad of [false, true, true]) {
    const id = await serving.run("orders", { bad });
    await serving.until(id, bad ? "failed" : "completed");
  }
  const page = await open(serving, "/workflows/orders");
  const older = page.getByRole("article", { name: `Version ${good}` });
  const newer = page.getByRole("article").filter({ hasText: "current" });
  await newer.getByText("33.3%").waitFor();
  await newer.getByText("the order has no date").waitFor();

  await older.getByRole("button", { name: /^More actions/ }).click();
  await page.getByRole("menuitem", { name: "Try on last failures…" }).click();
  const dialog = page.getByRole("dialog");
  const tries = dialog.getByRole("checkbox");
  await tries.first().waitFor();
  expect(await tries.count()).toBe(2);
  // Nothing runs unless a person has chosen it.
  expect(await dialog.getByRole("button", { name: "Try", exact: true }).isDisabled()).toBe(true);
  await tries.first().check();
  await dialog.getByRole("button", { name: "Try 1 thread" }).click();
  await dialog.getByRole("link", { name: "Open the new thread" }).waitFor();
  const rows = await serving.ok<ThreadRow[]>(`/api/threads?workflow=${good}`);
  expect(rows).toHaveLength(1);
  await serving.until(rows[0]?.threadId ?? "", "completed");
  await page.keyboard.press("Escape");

  await older.getByRole("button", { name: "Roll back" }).click();
  await dialog.getByRole("cell", { name: "33.3%" }).waitFor();
  await dialog.getByRole("button", { name: "Check its threads on this version" }).click();
  await dialog.getByText(/^\d threads: .* 0 diverge\.$/).waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Roll back" }).click();
  await older.getByText("current", { exact: true }).waitFor();
  expect(await serving.ok<Workflow>("/api/workflows/orders")).toMatchObject({ hash: good });
}, 600_000);
