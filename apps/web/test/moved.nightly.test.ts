import { join } from "node:path";
import { expect, test } from "bun:test";
import { moveThread, movingRoot } from "@uncaged/workflow/internal";
import type { Page } from "playwright-core";
import { keepPicture, open, useConsoleProcess } from "./browser.ts";

const serving = useConsoleProcess("asker");

/** Moves a thread to another storage root and returns the root's name. */
async function moveAway(threadId: string): Promise<string> {
  const { hash } = await serving.ok<{ hash: string }>(`/api/threads/${threadId}`);
  const path = join(serving.folder, "desk");
  const from = movingRoot(serving.path, "laptop");
  await moveThread(from, movingRoot(path, "desk"), { hash, threadId });
  return `desk:${path}`;
}

/** The accessible names of the buttons on a thread's page, without the buttons that every page has. */
const buttonsOf = async (page: Page): Promise<string[]> => {
  const names = await page
    .getByRole("main")
    .getByRole("button")
    .evaluateAll((all) => all.map((one) => one.getAttribute("aria-label") ?? one.textContent));
  return names.filter((name): name is string =>
    /Fork|Rerun|Retry|Kill|Pause|Resume|Answer|Go to question/.test(name ?? ""),
  );
};

test("a moved thread names its new host and offers no action that would be refused", async () => {
  const id = await serving.run("asker");
  await serving.until(id, "waiting");
  const page = await open(serving, `/threads/${id}`);
  await page.getByRole("button", { name: "Kill" }).waitFor();
  expect(await buttonsOf(page)).toContain("Go to question");
  const host = await moveAway(id);
  await page.getByText(`It has moved to ${host} and continues there.`).waitFor();
  await keepPicture(page, "thread-moved");
  const left = await buttonsOf(page);
  expect(left.length).toBeGreaterThan(0);
  expect(left.filter((name) => !name.startsWith("Fork"))).toEqual([]);
  expect(await page.getByRole("textbox").count()).toBe(0);

  await page.goto(`http://127.0.0.1:${serving.port}/threads/${id}?view=graph`);
  await page.getByText("moved", { exact: true }).first().waitFor();
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Fork…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Fork" }).click();
  await page.waitForURL((url) => !url.pathname.endsWith(id));
  await page.getByRole("button", { name: "Kill" }).waitFor();

  await page.goto(`http://127.0.0.1:${serving.port}/threads/${id}`);
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("The thread stays on the other host.").waitFor();
  expect(await dialog.getByText("Kill it first").count()).toBe(0);
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.waitForURL((url) => url.pathname === "/");
}, 600_000);
