import type { Locator, Page } from "playwright-core";
import { nodeOf } from "./graph-runs.ts";
import { type Hand, keyboard, mouse } from "./hand.ts";
import { drag } from "./pointer.ts";

export type Builder = Hand & {
  add(type: string, key: string, at: { x: number; y: number }): Promise<void>;
  edit(id: string, fields: () => Promise<void>): Promise<void>;
  connect(from: [id: string, port: string], to: [id: string, port: string]): Promise<void>;
};

const form = (page: Page): Locator => page.getByRole("region", { name: "Node" });

export function byMouse(page: Page): Builder {
  const hand = mouse(page);
  return {
    ...hand,
    async add(type, _key, at) {
      const item = page
        .getByRole("group", { name: "Add a node" })
        .getByRole("button", { name: type });
      await item.dragTo(page.locator(".react-flow"), { targetPosition: at });
    },
    async edit(id, fields) {
      await nodeOf(page, id).click({ position: { x: 60, y: 12 } });
      await hand.press("tab", "Settings");
      await form(page).getByText(id, { exact: true }).waitFor();
      await fields();
    },
    async connect([source, port], [target, entry]) {
      const handle = (id: string, name: string) =>
        nodeOf(page, id).locator(`[data-handleid="${name}"]`);
      await drag(page, handle(source, port), handle(target, entry));
    },
  };
}

export function byKeyboard(page: Page): Builder {
  const hand = keyboard(page);
  const select = async (id: string) => {
    await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
    await page.keyboard.press("/");
    await page.keyboard.type(id);
    await page.keyboard.press("Enter");
    await page.keyboard.press("Escape");
    await form(page).getByText(id, { exact: true }).waitFor();
  };
  return {
    ...hand,
    async add(_type, key) {
      await page.keyboard.press("a");
      // The dialog takes the focus one frame after it appears.
      const adding = page.getByRole("dialog", { name: "Add a node" });
      await adding.locator(":focus").first().waitFor();
      await page.keyboard.press(key);
      await page.getByRole("dialog").waitFor({ state: "detached" });
    },
    async edit(id, fields) {
      await select(id);
      await page.keyboard.press("F2");
      await form(page).locator("input:focus, textarea:focus, select:focus").waitFor();
      await fields();
    },
    async connect([source, port], [target, entry]) {
      await select(source);
      await page.keyboard.press("c");
      await page.getByRole("dialog").locator(":focus").first().waitFor();
      const optionOf = (label: string, value: string) =>
        page
          .getByLabel(label, { exact: true })
          .locator(`option[value='${value}']`)
          .evaluate((option: HTMLOptionElement) => option.text);
      await hand.choose("From", await optionOf("From", port));
      await hand.choose("To", await optionOf("To", JSON.stringify({ node: target, port: entry })));
      await hand.press("button", "Connect", page.getByRole("dialog"));
      await page.getByRole("dialog").waitFor({ state: "detached" });
    },
  };
}
