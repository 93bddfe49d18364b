import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { keepPicture, open, useConsole } from "./browser.ts";
import { stepOf } from "./steps-hand.ts";
import { violationsOf } from "./violations.ts";

const serving = useConsole();

const flow = {
  ...{ version: "3.18", name: "ask", registry: { params: [], vars: ["$answer(STRING)"] } },
  steps: [
    { id: "Pause_1", reason: "Which colour?", resumeResultTarget: "$answer", next: "Stop_1" },
    { id: "Stop_1", reason: "='it is ' + $answer" },
  ],
};

const bar = (page: Page) => page.getByRole("group", { name: "Runs" });
const tabs = (page: Page) => bar(page).locator("button[aria-pressed]");
const tab = (page: Page, at: number, state: string) =>
  tabs(page)
    .nth(at)
    .and(page.getByRole("button", { name: new RegExp(`^Run ?${state}`) }));
const selected = (page: Page, at: number) =>
  tabs(page).nth(at).and(page.locator('[aria-pressed="true"]'));

test("of three runs each is shown, answered and forgotten on its own", async () => {
  await serving.add("ask", JSON.stringify(flow), "ask.json");
  const page = await open(serving, "/editor/steps/ask", { width: 1600, height: 900 });
  for (let at = 0; at < 3; at += 1) {
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await tab(page, at, "waiting").waitFor();
    await selected(page, at).waitFor();
  }
  expect(await violationsOf(page)).toEqual([]);
  await keepPicture(page, "session-bar");
  await tabs(page).nth(1).click();
  await selected(page, 1).waitFor();
  await page.getByRole("tab", { name: "Run" }).click();
  await page.getByLabel("Your answer").fill("blue");
  await page.getByRole("button", { name: "Answer" }).click();
  await tab(page, 1, "completed").waitFor();
  await stepOf(page, "Stop_1").getByText("done").waitFor();
  await tab(page, 0, "waiting").waitFor();
  await tab(page, 2, "waiting").waitFor();

  // A reload keeps the runs, and which of them is shown.
  await page.reload();
  await tab(page, 1, "completed").waitFor();
  await selected(page, 1).waitFor();
  await tabs(page).nth(0).click();
  await stepOf(page, "Pause_1").getByText("waiting").waitFor();
  await stepOf(page, "Stop_1").getByText("done").waitFor({ state: "detached" });
  // The one that is shown is forgotten: the newest is shown then.
  await page.getByRole("button", { name: "Forget Run" }).first().click();
  await tabs(page).nth(2).waitFor({ state: "detached" });
  await tab(page, 0, "completed").waitFor();
  await selected(page, 1).waitFor();
  await tab(page, 1, "waiting").waitFor();
}, 600_000);
