import { expect, test } from "bun:test";
import type { Workflow } from "@uncaged/workflow-server/api-types";
import type { Locator, Page } from "playwright-core";
import { keepPicture, type Look, open, useConsoleProcess } from "./browser.ts";
import { violationsOf } from "./violations.ts";

const serving = useConsoleProcess();

const source = (role: string) => `import { durable } from "@uncaged/workflow";
export const descriptor = { description: "${role}", roles: {} };
export const run = durable(async function* (step) {
  yield* step("${role}", () => 0);
  yield* step.wait("approval");
});
`;

const looks: Look[] = [
  { width: 1440, height: 900 },
  { width: 380, height: 800, theme: "dark" },
];

async function look(page: Page, name: string): Promise<void> {
  await keepPicture(page, `check-${name}-${page.viewportSize()?.width}`);
  expect(await violationsOf(page)).toEqual([]);
}

/** Whether the button with a text has the focus. */
const hasFocus = (dialog: Locator, text: string) =>
  dialog.locator("button:focus", { hasText: text }).waitFor();

test("a rollback offers a check by keyboard: none to check, a failure, and threads that diverge", async () => {
  await serving.add("letter", source("author"), "letter.ts");
  const { hash } = await serving.ok<Workflow>("/api/workflows/letter");
  await serving.add("letter", source("writer"), "letter.ts");
  const openDialog = async (page: Page) => {
    const older = page.getByRole("article", { name: `Version ${hash}` });
    await older.getByRole("button", { name: "Roll back" }).click();
    return page.getByRole("dialog");
  };
  const pages = await Promise.all(looks.map((one) => open(serving, "/workflows/letter", one)));
  for (const page of pages) {
    const dialog = await openDialog(page);
    const held = Promise.withResolvers<void>();
    await page.route("**/check", async (route) => {
      await held.promise;
      await route.continue();
    });
    await dialog.getByRole("button", { name: "Check its threads on this version" }).focus();
    await page.keyboard.press("Enter");
    await hasFocus(dialog, "Checking…");
    await look(page, "loading");
    held.resolve();
    await dialog.getByText("No threads to check.").waitFor();
    await hasFocus(dialog, "Check again");
    await look(page, "none");
  }

  const ids: string[] = [];
  for (let n = 0; n < 12; n += 1) ids.push(await serving.run("letter"));
  for (const id of ids) await serving.until(id, "waiting");
  for (const page of pages) {
    const dialog = page.getByRole("dialog");
    const error = { code: "SANDBOX_FAILED", message: "the sandbox failed", hint: "try again" };
    await page.route("**/check", (route) => route.fulfill({ status: 500, json: { error } }));
    await page.keyboard.press("Enter");
    await dialog.getByRole("alert").getByText("The sandbox failed").waitFor();
    await look(page, "failure");
    await page.unroute("**/check");
    await page.keyboard.press("Enter");
    await dialog.getByText("12 threads: 0 continue, 0 wait, 0 ended, 12 diverge.").waitFor();
    await dialog.getByText("step 1: recorded writer, here author").first().waitFor();
    expect(await dialog.getByRole("link").count()).toBe(10);
    await dialog.getByText("And 2 more.").waitFor();
    await hasFocus(dialog, "Check again");
    await look(page, "diverge");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/threads/${ids.at(-1)}`);
  }
}, 600_000);
