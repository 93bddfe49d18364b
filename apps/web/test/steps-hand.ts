import type { Locator, Page } from "playwright-core";
import { type Hand, keyboard, mouse, pressUntil } from "./hand.ts";
import { drag, settled } from "./pointer.ts";

/** An input device for the editor of step workflows. */
export type StepsHand = Hand & {
  /** Adds a step in the selected construct, or beside the selected step. */
  add(type: string, key: string): Promise<void>;
  /** Selects a step; null clears the selection. */
  pick(id: string | null): Promise<void>;
  /** Runs an item of a step's menu. */
  act(id: string, label: string): Promise<void>;
  /** Connects a step to its successor. */
  connect(from: string, to: string): Promise<void>;
};

export const stepOf = (page: Page, id: string): Locator =>
  page.locator(`.react-flow__node[data-id="${id}"]`);

const handleOf = (page: Page, id: string, port: string): Locator =>
  stepOf(page, id).locator(`.react-flow__handle[data-handleid="${port}"]`);

export function byMouse(page: Page): StepsHand {
  const hand = mouse(page);
  const pick = async (id: string) => {
    await fit();
    await settled(stepOf(page, id));
    await stepOf(page, id).click({ position: { x: 60, y: 12 } });
    await hand.press("tab", "Settings");
    await page.getByRole("heading", { name: id }).waitFor();
  };
  const fit = () => page.getByRole("button", { name: "Show all" }).first().click();
  return {
    ...hand,
    add: async (type) => {
      const palette = page.getByRole("group", { name: "Add a node" });
      await palette.getByRole("button", { name: type, exact: true }).click();
    },
    pick: async (id) => {
      if (id === null) {
        await hand.press("tab", "Settings");
        await fit();
        const pane = await page.locator(".react-flow__pane").boundingBox();
        await page.mouse.click((pane?.x ?? 0) + 20, (pane?.y ?? 0) + 20);
        await page.getByText(/Select a node to edit it/).waitFor();
        return;
      }
      await pick(id);
    },
    act: async (id, label) => {
      await pick(id);
      await hand.press("button", label);
    },
    connect: async (from, to) => {
      await fit();
      await drag(page, handleOf(page, from, "next"), handleOf(page, to, "in"));
    },
  };
}

export function byKeyboard(page: Page): StepsHand {
  const hand = keyboard(page);
  return {
    ...hand,
    add: async (type, key) => {
      await leaveField(page);
      await page.keyboard.press("a");
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("button", { name: new RegExp(`^${type}`) }).waitFor();
      // The dialog takes the focus one frame after it appears.
      await dialog.locator(":focus").first().waitFor();
      await page.keyboard.press(key);
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await page.locator(".react-flow__node:focus").waitFor();
      await toForm(page);
    },
    pick: async (id) => {
      await leaveField(page);
      if (id === null) {
        await hand.press("tab", "Settings");
        await pressUntil(page, page.locator(".react-flow__node").first(), "Tab");
        await page.keyboard.press("Escape");
        await page.getByText(/Select a node to edit it/).waitFor();
        return;
      }
      await pressUntil(page, stepOf(page, id), "Tab");
      await page.getByRole("heading", { name: id }).waitFor();
      await toForm(page);
    },
    act: async (id, label) => {
      await leaveField(page);
      await pressUntil(page, stepOf(page, id), "Tab");
      await page.keyboard.press("Shift+F10");
      await hand.press("menuitem", label);
    },
    connect: async (from, to) => {
      await leaveField(page);
      await pressUntil(page, stepOf(page, from), "Tab");
      await page.keyboard.press("c");
      await page.getByRole("dialog").locator(":focus").first().waitFor();
      await hand.choose("From", "next step");
      await hand.choose("To", to);
      await hand.press("button", "Connect", page.getByRole("dialog"));
      await page.getByRole("dialog").waitFor({ state: "detached" });
    },
  };
}

/** Leaves a field that has the focus, because it would receive single-letter keys. */
async function leaveField(page: Page): Promise<void> {
  const isTyping = () =>
    page.evaluate(() => /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? ""));
  for (let presses = 0; presses < 100 && (await isTyping()); presses += 1) {
    await page.keyboard.press("Tab");
  }
}

/** Moves from the focused step to its form. */
async function toForm(page: Page): Promise<void> {
  await page.keyboard.press("F2");
  await page.locator("#editor-form :focus").waitFor();
}
