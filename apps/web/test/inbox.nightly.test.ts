import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openLocalHost } from "@uncaged/workflow/host";
import type { Page } from "playwright-core";
import { openPlans } from "../../../packages/workflow-plan/src/entry/service.ts";
import { keepPicture, open, useConsoleProcess } from "./browser.ts";
import { keyboard } from "./hand.ts";
import { darken, violationsOf } from "./violations.ts";

const serving = useConsoleProcess("asker");
serving.more = {
  ...serving.more,
  ANTHROPIC_API_KEY: "none",
  UNCAGED_PLAN_AGENT_COMMAND: join(
    import.meta.dir,
    "../../../packages/cli-workflow/test/agents/agent.sh",
  ),
  UNCAGED_PLAN_SANDBOX_MODE: "off",
};

const opened: { close(): void }[] = [];
afterAll(() => opened.forEach((plans) => plans.close()));

/** Opens the plans of the console's home, as another program does. */
function otherProgram() {
  const host = openLocalHost({ path: serving.path });
  const home = join(serving.path, "plans");
  const plans = openPlans({ host, home, env: {}, cwd: serving.folder });
  opened.push(plans);
  return plans;
}

const at = "2026-01-01T00:00:00.000Z";
const planOf = (id: string, name: string, task: string) => ({
  ...{ schema_version: "1.0" as const, id, name, description: `Wanted: ${name}` },
  ...{ trigger: { type: "manual" as const }, created_at: at, updated_at: at },
  steps: [{ id: "look", description: task, agent: "claude" as const, inputs: {}, depends_on: [] }],
  failure_policy: { on_step_failure: "ask_user" as const, max_retries: 0, retry_delay_ms: 0 },
  ...{ phase: "awaiting_confirmation" as const, metadata: { sandbox: "off" as const } },
});

const link = (page: Page, name: string | RegExp) =>
  page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name, exact: true });

test("waiting items appear, are counted, and are answered in place by keyboard alone", async () => {
  const page = await open(serving, "/inbox");
  await page.getByText("Nothing waits for you").waitFor();
  await link(page, "Inbox").waitFor();
  const plans = otherProgram();
  writeFileSync(join(serving.folder, "broken"), "do it\n");
  await plans.create(planOf("wf_first", "First plan", "do it"));
  const first = page.getByRole("region", { name: "Plan: First plan" });
  await first.getByText("do it").waitFor();
  await link(page, "Inbox 1 waiting").waitFor();
  const hand = keyboard(page);
  await hand.press("button", "Confirm and run", first);
  await first.getByText("do it is broken").waitFor();
  await plans.create(planOf("wf_second", "Second plan", "do something else"));
  const asking = await serving.run("asker");
  const list = page.getByRole("navigation", { name: "Waiting" });
  await list.getByRole("link", { name: "asker" }).waitFor();
  await list.getByRole("link", { name: "Second plan" }).waitFor();
  await link(page, "Inbox 3 waiting").waitFor();
  // A new item does not take the place of the shown item.
  await first.getByRole("button", { name: "Retry look" }).waitFor();
  expect(await page.title()).toStartWith("(3) ");
  expect(await violationsOf(page)).toEqual([]);
  await keepPicture(page, "inbox-light");
  await darken(page);
  expect(await violationsOf(page, "color-contrast")).toEqual([]);
  await keepPicture(page, "inbox-dark");

  const question = page.getByRole("region", { name: "Question: asker" });
  for (let moves = 0; (await question.count()) === 0 && moves < 3; moves += 1) {
    await page.keyboard.press(moves === 0 ? "k" : "j");
    await page.locator("nav[aria-label=Waiting] a[aria-current]:focus").waitFor();
  }
  await question.getByText("may I?").waitFor();
  await hand.write("Your answer", "yes");
  await hand.press("button", "Answer", question);
  await serving.until(asking, "completed");
  // The next item is shown, and its row has the focus.
  await page.locator("nav[aria-label=Waiting] a[aria-current]:focus").waitFor();
  expect(await question.count()).toBe(0);
  await list.getByRole("link", { name: "First plan" }).focus();
  await page.keyboard.press("Enter");
  await hand.press("button", "Abort look", first);
  await link(page, "Inbox 1 waiting").waitFor();
  await page.locator("nav[aria-label=Waiting] a[aria-current]:focus").waitFor();
  // An item that another program decides stays in place and can't be answered.
  const second = page.getByRole("region", { name: "Plan: Second plan" });
  const confirm = second.getByRole("button", { name: "Confirm and run" });
  await confirm.waitFor();
  await page.keyboard.press("a");
  await confirm.and(page.locator(":focus")).waitFor();
  await second.getByText("Enter sends the focused choice.").waitFor();
  await plans.reject("wf_second");
  await second.getByText("this question is no longer open").waitFor();
  expect(await second.getByRole("button", { name: /^Confirm/ }).isDisabled()).toBe(true);
  await link(page, "Inbox").waitFor();
  await page.reload();
  await page.getByText("Nothing waits for you").waitFor();
}, 600_000);

/** Records the notifications of a page in place of the browser, because headless browsers show none. */
const recordNotices = (page: Page) =>
  page.addInitScript(() => {
    const shown: string[] = [];
    class Recorded extends EventTarget {
      static permission = "default";
      static requestPermission() {
        Recorded.permission = "granted";
        return Promise.resolve("granted");
      }
      constructor(title: string, { body, tag }: { body: string; tag: string }) {
        super();
        shown.push(`${title}: ${body} (${tag})`);
        Object.assign(window, { lastNotice: this });
      }
      close() {}
    }
    Object.assign(window, { Notification: Recorded, shown });
    document.hasFocus = () => false;
  });

test("new items cause notifications once the user has enabled them, and a notification opens its item", async () => {
  const page = await open(serving, "/inbox");
  await recordNotices(page);
  await page.reload();
  const shown = () => page.evaluate(() => (window as unknown as { shown: string[] }).shown);
  const list = page.getByRole("navigation", { name: "Waiting" });
  const before = await serving.run("asker");
  await list.locator(`[data-key="${before}.1"]`).waitFor();
  expect(await shown()).toEqual([]);
  await page.getByRole("button", { name: "Notify me" }).click();
  await page.getByRole("button", { name: "Notifications are on" }).waitFor();
  const id = await serving.run("asker");
  await list.locator(`[data-key="${id}.1"]`).waitFor();
  await page.waitForFunction(() => (window as unknown as { shown: string[] }).shown.length > 0);
  expect(await shown()).toEqual([`asker: may I? (${id}.1)`]);
  await page.evaluate(() =>
    (window as unknown as { lastNotice: EventTarget }).lastNotice.dispatchEvent(new Event("click")),
  );
  await page.waitForURL(`**/inbox?item=${id}.1`);
  await page.getByRole("button", { name: "Notifications are on" }).click();
  await page.getByRole("button", { name: "Notify me" }).waitFor();
}, 600_000);
