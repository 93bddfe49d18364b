import { describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { keepPicture, open, useConsole } from "./browser.ts";
import { importText } from "./editor.ts";
import { violationsOf } from "./violations.ts";

const serving = useConsole();

/** A state of an editor, and how to enter and leave it. */
type State = [name: string, enter: (page: Page) => Promise<unknown>, leave?: string];

const press = (name: string) => (page: Page) =>
  page.getByRole("button", { name, exact: true }).click();

const nodes = ".react-flow__node";
const menuOf = (title: string) => (page: Page) =>
  page.locator(nodes, { hasText: title }).click({ button: "right", position: { x: 60, y: 12 } });
const select = (title: string) => (page: Page) =>
  page.locator(nodes, { hasText: title }).click({ position: { x: 60, y: 12 } });
const byKey = (key: string) => async (page: Page) => {
  await page.locator(nodes).last().focus();
  await page.keyboard.press(key);
};

const common: State[] = [
  ["nothing but the first node", async () => undefined],
  ["all selected", byKey("Control+a"), "Escape"],
  ["the menu of files", press("File"), "Escape"],
  ["the keys", press("Keys of the editor"), "Escape"],
  ["saving", press("Save…"), "Escape"],
  ["adding by key", byKey("a"), "Escape"],
  [
    "a refused import",
    async (page) => {
      await importText(page, "photo.png", "PNG", "image/png");
      await page.getByText("not an image").waitFor();
    },
  ],
];

const graph: State[] = [
  ...common,
  ["a node selected", select("Agent")],
  ["the menu of a node", menuOf("Agent"), "Escape"],
  ["connecting", press("Connect…"), "Escape"],
  ["the console of a run", press("Run…")],
];

const steps: State[] = [
  ...common,
  ["a step selected", select("Tool")],
  ["the menu of a step", menuOf("Tool"), "Escape"],
  ["its tool", press("Tool…"), "Escape"],
  ["its name", press("Rename…"), "Escape"],
];

describe.each([
  { theme: "light", rules: [] },
  // Themes differ only in colours.
  { theme: "dark", rules: ["color-contrast"] },
] as const)("in the theme $theme", ({ theme, rules }) => {
  test.each([
    ["graph", "Agent", graph],
    ["steps", "Tool", steps],
  ] as const)(
    "no state of the editor of %s has a violation",
    async (kind, first, states) => {
      const page = await open(serving, `/editor/${kind}`, { width: 1440, height: 900, theme });
      const palette = page.getByRole("group", { name: "Add a node" });
      await palette.getByRole("button", { name: first, exact: true }).click();
      await page.locator(nodes, { hasText: first }).waitFor();
      const opened = page.locator(":is([role=dialog],[role=menu])");
      const found: string[] = [];
      for (const [name, enter, leave] of states) {
        await enter(page);
        if (leave === "Escape" && name !== "all selected") await opened.waitFor();
        await keepPicture(page, `state-${kind}-${name.replaceAll(" ", "-")}-${theme}`);
        for (const violation of await violationsOf(page, ...rules)) {
          found.push(`${name}: ${violation}`);
        }
        if (leave !== undefined) await page.keyboard.press(leave);
        await opened.waitFor({ state: "detached" });
      }
      expect(found).toEqual([]);
    },
    600_000,
  );
});
