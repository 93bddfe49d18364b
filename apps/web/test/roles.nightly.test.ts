import { chmodSync } from "node:fs";
import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { Serving } from "../../../packages/server/test/serving.ts";
import { keepPicture, type Look, open, useServer } from "./browser.ts";

/* The console for a person whose token may only read, or only answer. */

setDefaultTimeout(180_000);

const tokenOf = (role: string): string => `${role}-0123456789-abcdefghij`;

class Guarded extends Serving {
  as = "operate";
  override get token(): string {
    return tokenOf(this.as);
  }
}

const serving = new Guarded();
const lines = ["read", "answer", "operate"].map((role) => `the-${role} ${role} ${tokenOf(role)}\n`);
const tokenFile = serving.write("tokens", lines.join(""));
chmodSync(tokenFile, 0o600);
serving.options = { tokenFile };
useServer(serving, "counter", "asker", "endless");

let done = "";
let asking = "";
let running = "";

beforeAll(async () => {
  [done, asking, running] = await Promise.all([
    serving.run("counter"),
    serving.run("asker"),
    serving.run("endless", { delayMs: 500 }),
  ]);
  await serving.until(done, "completed");
  await serving.until(asking, "waiting");
}, 180_000);

const looks: Look[] = [
  { width: 1440, height: 860 },
  { width: 380, height: 800 },
];

async function openAs(role: string, path: string, look: Look): Promise<Page> {
  serving.as = role;
  const page = await open(serving, path, look);
  serving.as = "operate";
  return page;
}

/** Waits for the only reason that a part of a page shows. */
async function refused(part: Page | Locator, needed: string, role: string): Promise<void> {
  const alert = part.getByRole("alert").filter({ hasText: "role" });
  await alert.waitFor();
  expect(await alert.locator("p").first().textContent()).toBe(
    `The request needs the role ${needed}, but the token has the role ${role}`,
  );
}

const isFitting = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);

describe.each(looks)("a token that reads, at $width", (look) => {
  const begin = (path: string) => openAs("read", path, look);
  const needs = (part: Page | Locator) => refused(part, "operate", "read");
  const more = async (page: Page, name: string) => {
    await page.getByRole("button", { name: "More actions", exact: true }).click();
    await page.getByRole("menuitem", { name }).click();
  };
  const confirm = async (page: Page, name: string) => {
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name, exact: true }).click();
    await needs(dialog);
  };

  test("is named in the header, and does not control a thread", async () => {
    const page = await begin(`/threads/${running}`);
    await page.getByText("read only").waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await needs(page);
    expect(await isFitting(page)).toBe(true);
    await keepPicture(page, `role-read-thread-${look.width}`);
    await page.getByRole("button", { name: "Kill" }).click();
    await confirm(page, "Kill");
    await page.keyboard.press("Escape");
    await more(page, "Delete…");
    await confirm(page, "Delete");
  });

  test("keeps the text of an answer", async () => {
    const page = await begin(`/threads/${asking}`);
    await page.getByRole("button", { name: "Go to question" }).click();
    const answer = page.getByLabel("Your answer");
    await answer.fill("a long answer");
    await page.getByRole("button", { name: "Answer" }).click();
    await refused(page, "answer", "read");
    expect(await answer.inputValue()).toBe("a long answer");
  });

  test("keeps the values of a new thread and of a fork", async () => {
    let page = await begin("/?start=counter");
    const dialog = () => page.getByRole("dialog");
    const prompt = () => dialog().getByLabel("Prompt");
    await prompt().fill("look at src");
    await confirm(page, "Start");
    expect(await prompt().inputValue()).toBe("look at src");
    await keepPicture(page, `role-read-start-${look.width}`);
    page = await begin(`/threads/${done}`);
    await more(page, "Fork…");
    await dialog().getByText("Prompt, version and rounds").click();
    await prompt().fill("look again");
    await confirm(page, "Fork");
    expect(await prompt().inputValue()).toBe("look again");
  });

  test("neither adds nor removes a workflow", async () => {
    let page = await begin("/add");
    const file = { name: "new.json", mimeType: "application/json", buffer: Buffer.from("{}") };
    await page.locator("input[type=file]").first().setInputFiles(file);
    const name = page.getByLabel("Name");
    await name.fill("new-name");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await needs(page);
    expect(await name.inputValue()).toBe("new-name");
    page = await begin("/workflows/counter");
    await more(page, "Remove…");
    await confirm(page, "Remove");
  });

  test("keeps the text for the planner of plans", async () => {
    const page = await begin("/plans/new");
    const words = page.getByLabel("What do you want done, and when?");
    await words.fill("tell me which builds fail");
    await page.keyboard.press("Enter");
    await needs(page);
    expect(await words.inputValue()).toBe("tell me which builds fail");
  });

  test("does not save a drawn workflow", async () => {
    const page = await openAs("read", "/editor/graph", look);
    await page.locator(".react-flow__node").first().waitFor();
    await page.getByRole("button", { name: "Save…" }).click();
    const name = page.getByRole("dialog").getByLabel("Name");
    await name.fill("drawn");
    await confirm(page, "Save");
    expect(await name.inputValue()).toBe("drawn");
  });
});

test.each(looks)("a token that answers, at $width, only answers", async (look) => {
  const page = await openAs("answer", `/threads/${asking}`, look);
  await page.getByText("answers only").waitFor();
  await page.getByRole("button", { name: "Kill" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Kill" }).click();
  await refused(page.getByRole("dialog"), "operate", "answer");
  await page.keyboard.press("Escape");
  const id = await serving.run("asker");
  await serving.until(id, "waiting");
  const other = await openAs("answer", `/threads/${id}`, look);
  await other.getByRole("button", { name: "Go to question" }).click();
  await other.getByLabel("Your answer").fill("gladly");
  await other.getByRole("button", { name: "Answer" }).click();
  await serving.until(id, "completed");
});
