import { beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import type { Workflow } from "@uncaged/workflow-server/api-types";
import { bundleOf } from "../../../packages/workflow/test/fixtures/bundles.ts";
import { open, useConsole } from "./browser.ts";
import { type Hand, keyboard, mouse } from "./hand.ts";

const serving = useConsole("counter", "endless");

beforeAll(async () => {
  await serving.add("asker", asker);
  await serving.add("chooser", chooser);
}, 600_000);

/** Its question comes far below what a window shows. */
const asker = bundleOf(`
  for (let n = input.steps.length; n < 40; n += 1) yield step("reader", "line " + n);
  let answer = input.steps.find(({ role }) => role === "__input__");
  if (!answer) answer = yield step("__wait__", "May I?", { for: "approval", schema: { type: "boolean" } });
  yield step("reported", "you answered " + answer.meta.value);
`);

/** Each step repeats what the one before decided, so that an edit shows. */
const chooser = bundleOf(`
  let before = input.steps.at(-1)?.meta.choice ?? "none";
  for (let n = input.steps.length; n < 3; n += 1) {
    yield step("choose", input.prompt + " after " + before, { choice: "tea" });
    before = "tea";
  }
`);

const greeting = (
  words: string,
) => `export const descriptor = { description: "greets with ${words}",
  roles: { greeter: { description: "greets", schema: true } } };
export async function* run() {
  yield { role: "greeter", content: "${words}", meta: {} };
  return { returnCode: 0, summary: "" };
}
`;

const idOf = (page: Page): string => /\/threads\/(\w+)/.exec(page.url())?.[1] ?? "";

const status = (page: Page, word: string) =>
  page.locator("main header").getByText(word, { exact: true }).first().waitFor();

describe.each([
  ["the mouse alone", mouse],
  ["the keyboard alone", keyboard],
] as const)("with %s", (words, take) => {
  const by = (page: Page): Hand => take(page);

  test("a thread is started, found, opened, forked with an edit, run again and compared", async () => {
    const page = await open(serving);
    const hand = by(page);
    await hand.press("button", "Start");
    await hand.choose("Workflow", "chooser");
    await hand.write("Prompt", "what");
    await hand.press("button", "Start", page.getByRole("dialog"));
    await page.waitForURL(/\/threads\/\w+/);
    await status(page, "completed");
    const id = idOf(page);

    await hand.press("link", "Threads");
    await hand.press("button", "completed");
    await hand.choose("Workflow", "chooser");
    await hand.write("Search all threads", id.slice(-6));
    await page.getByText("1 thread", { exact: true }).waitFor();
    await hand.press("link", id);
    await page.getByText("what after none").waitFor();

    const second = page.getByRole("article", { name: /^Step 2:/ });
    await hand.press("button", /^Outputs/, second);
    await second.getByText("tea", { exact: true }).waitFor();

    await hand.press("button", "Fork from here, after step 1");
    await hand.write(/^Meta of step 1/, '{ "choice": "coffee" }');
    await hand.press("button", "Fork", page.getByRole("dialog"));
    await page.waitForURL((url) => !url.href.includes(id));
    await page.getByText("what after coffee").waitFor();
    await status(page, "completed");
    const forked = idOf(page);

    await hand.press("button", "More to do");
    await hand.press("menuitem", "Compare with…");
    await hand.press("button", "Compare", page.getByRole("dialog"));
    await page.getByText(/They differ from the first step on/).waitFor();
    await page.goto(`http://127.0.0.1:${serving.port}/threads/${forked}`);
    await page.getByText("what after coffee").waitFor();

    await hand.press("button", "Rerun from here, step 2");
    await hand.write(/^Meta of step 1/, '{ "choice": "water" }');
    await hand.press("button", "Rerun", page.getByRole("dialog"));
    await page.getByText("what after water").waitFor();
    await status(page, "completed");
    expect((await serving.until(idOf(page), "completed")).forkFrom?.threadId).toBe(forked);
  }, 600_000);

  test("a running thread is paused, resumed, killed and deleted", async () => {
    const id = await serving.run("endless", { delayMs: 200 });
    const page = await open(serving, `/threads/${id}`);
    const hand = by(page);
    await hand.press("button", "Pause");
    await status(page, "paused");
    await hand.press("button", "Resume");
    await status(page, "running");
    await hand.press("button", "Kill");
    await hand.press("button", "Kill", page.getByRole("dialog"));
    await status(page, "killed");
    await hand.press("button", "More to do");
    await hand.press("menuitem", "Delete…");
    await hand.press("button", "Delete", page.getByRole("dialog"));
    await page.getByRole("heading", { name: "Threads" }).waitFor();
    expect((await serving.fetch(`/api/threads/${id}`)).status).toBe(404);
  }, 600_000);

  test("a question is gone to and answered, and the views of a thread are gone through", async () => {
    const id = await serving.run("asker");
    await serving.until(id, "waiting");
    const page = await open(serving, `/threads/${id}?view=timeline`);
    const hand = by(page);
    await hand.press("button", "Go to question");
    await hand.press("button", "Approve");
    await page.getByText("you answered true").waitFor();
    await status(page, "completed");
    await hand.press("tab", "Graph");
    await page.getByRole("figure").getByText("reported").waitFor();
    await hand.press("tab", "Timeline");
    await page.getByRole("group", { name: /reported/ }).waitFor();
    await hand.press("tab", "Steps");
    await page.getByText("line 0", { exact: true }).waitFor();
  }, 600_000);

  test("a file is added, its versions looked at, and the workflow rolled back and removed", async () => {
    const name = take === mouse ? "greet-mouse" : "greet-keys";
    await serving.add(name, greeting("hello"), `${name}.ts`);
    const { hash } = await serving.ok<Workflow>(`/api/workflows/${name}`);
    const page = await open(serving);
    const hand = by(page);
    await hand.press("link", "Add");
    const opened = page.waitForEvent("filechooser");
    await hand.press("button", "Drop a file here, or choose one");
    const buffer = Buffer.from(greeting(`good day, with ${words}`));
    await (await opened).setFiles({ name: "day.ts", mimeType: "text/plain", buffer });
    await hand.write("Name", name);
    await hand.press("button", "Add");
    await hand.press("link", `Open ${name}`);
    const newest = page.getByRole("article").first();
    await hand.press("button", /what changed in the source/, newest);
    await newest
      .getByRole("region", { name: /^Changes in/ })
      .first()
      .waitFor();
    await hand.press("tab", "Roles");
    await page.getByRole("heading", { name: "greeter" }).waitFor();
    await hand.press("tab", "Source");
    await page.getByText("export async function*").first().waitFor();
    await hand.press("tab", "Versions");
    await hand.press("button", "Roll back to it");
    await hand.press("button", "Roll back to it", page.getByRole("dialog"));
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect((await serving.ok<Workflow>(`/api/workflows/${name}`)).hash).toBe(hash);
    await hand.press("button", "More to do");
    await hand.press("menuitem", "Remove…");
    await hand.press("button", "Remove", page.getByRole("dialog"));
    await page.getByRole("heading", { name: "Workflows" }).waitFor();
    expect((await serving.fetch(`/api/workflows/${name}`)).status).toBe(404);
  }, 600_000);

  test("light and dark are changed, and the keys listed", async () => {
    const page = await open(serving);
    const hand = by(page);
    await hand.press("button", "Theme: system. Change to light");
    await hand.press("button", "Theme: light. Change to dark");
    expect(await page.locator("html").getAttribute("data-theme")).toBe("dark");
    await hand.press("button", "Keys");
    await hand.press("button", "Close", page.getByRole("dialog", { name: "Keys" }));
    await page.getByRole("dialog").waitFor({ state: "detached" });
  }, 600_000);
});

test("a question that is gone to before the thread's log has come is shown when it comes", async () => {
  const id = await serving.run("asker");
  await serving.until(id, "waiting");
  const page = await open(serving, "/");
  // A shared worker's requests can't be held up.
  await page.addInitScript(() => Reflect.deleteProperty(globalThis, "SharedWorker"));
  const held = Promise.withResolvers<void>();
  await page.route(/\/events(\?|$)/, async (route) => {
    await held.promise;
    await route.continue();
  });
  await page.goto(`http://127.0.0.1:${serving.port}/threads/${id}?view=timeline`);
  await page.getByRole("button", { name: "Go to question" }).click();
  await page.waitForURL((url) => !url.searchParams.has("view"));
  held.resolve();
  await page.getByRole("button", { name: "Approve" }).waitFor();
  await page.unrouteAll({ behavior: "ignoreErrors" });
}, 600_000);
