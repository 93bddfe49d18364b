import { beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { open, useConsole } from "./browser.ts";
import { chain, importText, nodeOf, openEditor } from "./editor.ts";
import { violationsOf } from "./violations.ts";

const serving = useConsole();

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

test("two tabs that save at once: the second is shown both, and chooses; nothing is lost", async () => {
  const first = await openTeam();
  const second = await openTeam();
  expect(await currentText()).toBe(textOf("Writer", "Editor"));
  await importText(first, "a.json", textOf("Writer", "Checker"));
  await save(first);
  await first.getByText("Saved as a version of team").waitFor();
  expect(await currentText()).toBe(textOf("Writer", "Checker"));
  await importText(second, "b.json", textOf("Writer", "Editor", "Printer"));
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
  await versions.getByText("They are drawn the same.").waitFor();
  const [, before] = await serving.ok<{ hash: string }[]>("/api/workflows/team/history");
  await versions.getByLabel("Version", { exact: true }).selectOption(before?.hash ?? "");
  await versions.getByText("1 node added, 1 node changed, 1 line added").waitFor();
  expect(await violationsOf(second)).toEqual([]);
}, 600_000);

test("a new graph is saved under a name, and changes of it wait as a draft for a reload", async () => {
  const page = await openEditor(serving, chain("Painter"));
  await page.keyboard.press("Control+s");
  await page.getByRole("dialog").getByLabel("Name").fill("gallery");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "gallery" }).waitFor();
  await nodeOf(page, "Painter").waitFor();
  await importText(page, "more.json", textOf("Painter", "Framer"));
  await nodeOf(page, "Framer").waitFor();
  await page.reload();
  await nodeOf(page, "Framer").waitFor();
  await page.getByText(/your changes to gallery, which are not saved yet/).waitFor();
  await page.getByRole("button", { name: "Discard them" }).click();
  await nodeOf(page, "Framer").waitFor({ state: "detached" });
}, 600_000);
