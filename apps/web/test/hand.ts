import type { Locator, Page } from "playwright-core";

type Role = Parameters<Page["getByRole"]>[0];

/** An input device. Finds targets by their accessible names. */
export type Hand = {
  /** Presses a button, follows a link, or opens a section. `within` narrows the search. */
  press(role: Role, name: string | RegExp, within?: Locator): Promise<void>;
  write(label: string | RegExp, text: string): Promise<void>;
  choose(label: string | RegExp, option: string): Promise<void>;
};

/** Uses only the mouse; text is typed. */
export const mouse = (page: Page): Hand => ({
  press: async (role, name, within) => await first(page, role, name, within).click(),
  write: async (label, text) => {
    await field(page, label).click();
    await field(page, label).fill(text);
  },
  // Playwright can't click the options of a native list, so select one.
  choose: async (label, option) => {
    await field(page, label).selectOption(option);
  },
});

/** Uses only the keyboard: Tab, arrow keys within a group, Enter. */
export const keyboard = (page: Page): Hand => ({
  press: async (role, name, within) => {
    const target = first(page, role, name, within);
    await target.waitFor();
    if (role?.startsWith("menuitem")) await pressUntil(page, target, "ArrowDown");
    else if (role === "tab") await toTab(page, target);
    else await pressUntil(page, target, "Tab");
    await page.keyboard.press(role === "checkbox" ? "Space" : "Enter");
  },
  write: async (label, text) => {
    await pressUntil(page, field(page, label), "Tab");
    await page.keyboard.press("Control+A");
    await page.keyboard.type(text);
  },
  choose: async (label, option) => {
    const list = field(page, label);
    await list.locator("option", { hasText: option }).first().waitFor({ state: "attached" });
    const chosenOf = (box: HTMLSelectElement) => box.selectedOptions[0]?.text;
    for (let tries = 0; ; tries += 1) {
      await pressUntil(page, list, "Tab");
      await page.keyboard.type(option);
      const chosen = await list.evaluate(chosenOf);
      if (chosen === option) return;
      if (tries === 2) throw new Error(`${chosen} is chosen, and not ${option}`);
      // Wait, because the list starts a new search only after a pause.
      await page.waitForTimeout(1_500);
    }
  },
});

const first = (page: Page, role: Role, name: string | RegExp, within?: Locator): Locator =>
  (within ?? page)
    .getByRole(role, { name, ...(typeof name === "string" && { exact: true }) })
    .first();

// An open dialog comes last in the page.
const field = (page: Page, label: string | RegExp): Locator =>
  page.getByLabel(label, { exact: typeof label === "string" }).last();

const mostPresses = 150;

/** Presses a key until the target has the focus. */
export async function pressUntil(page: Page, target: Locator, key: string): Promise<void> {
  await target.waitFor();
  for (let presses = 0; presses < mostPresses; presses += 1) {
    if (await hasFocus(target)) return;
    await page.keyboard.press(key);
  }
  throw new Error(`${key} never came to ${String(target)}`);
}

/** Tabs are one Tab stop: arrow keys move between them. */
async function toTab(page: Page, target: Locator): Promise<void> {
  const isInList = () =>
    page.evaluate(() => document.activeElement?.getAttribute("role") === "tab");
  for (let presses = 0; presses < mostPresses && !(await isInList()); presses += 1) {
    await page.keyboard.press("Tab");
  }
  await pressUntil(page, target, "ArrowRight");
}

const hasFocus = (target: Locator): Promise<boolean> =>
  target.evaluate((element) => element === document.activeElement).catch(() => false);
