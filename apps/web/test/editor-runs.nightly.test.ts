import { afterAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import type { ThreadRow } from "../../../packages/server/src/entry/api-types.ts";
import { open, useConsoleProcess } from "./browser.ts";
import { chain, nodeOf, scriptedModel, statusIs, traced } from "./graph-runs.ts";
import { mouse } from "./hand.ts";
import { stepOf } from "./steps-hand.ts";
import { violationsOf } from "./violations.ts";

const serving = useConsoleProcess();
const model = await scriptedModel(serving);
afterAll(model.stop);

const wide = { width: 1440, height: 900 };
const agent = (name: string, systemPrompt: string) => ({
  type: "agent",
  data: { agentName: name, systemPrompt, userPrompt: "" },
});
const approval = { type: "approval", data: { prompt: "Go on?" } };
const editor = agent("Editor", "say: two");

/** Saves a graph as a workflow and opens its editor. */
async function drawn(name: string, text: string): Promise<Page> {
  const added = await serving.add(name, text, `${name}.json`);
  expect(await added.json()).toMatchObject({ name });
  const page = await open(serving, `/editor/graph/${name}`, wide);
  await nodeOf(page, "n1").waitFor();
  return page;
}

async function run(page: Page): Promise<void> {
  await mouse(page).press("button", "Run…");
  await mouse(page).press("button", "Run");
}

const select = (page: Page, id: string) => nodeOf(page, id).click({ position: { x: 40, y: 12 } });
const dataOf = (page: Page) => page.getByRole("region", { name: "Data", exact: true });
const threadsOf = (name: string) => serving.ok<ThreadRow[]>(`/api/threads?workflow=${name}`);

test("a run has the name of its document, and saved text stays byte for byte", async () => {
  const text = chain(agent("Writer", "say: one"), approval, editor).replaceAll("\n  ", "\n\t");
  const page = await drawn("named", text);
  await run(page);
  await statusIs(page, "waiting");
  await select(page, "n0");
  await mouse(page).press("tab", "Settings");
  await page
    .getByLabel(/^Prompt|^Initial/)
    .first()
    .fill("Changed");
  await mouse(page).press("tab", "Run");
  await mouse(page).press("button", "Cancel");
  await statusIs(page, "killed");
  await mouse(page).press("button", "Run");
  await statusIs(page, "waiting");
  const threads = await threadsOf("named");
  expect(threads.map(({ subject }) => subject)).toEqual(["Changed", "Begin"]);
  const saved = await serving.ok<{ text: string }>("/api/bundles/named/document");
  expect(saved.text).toBe(text);
  expect(await serving.ok<unknown[]>("/api/workflows/named/history")).toHaveLength(1);
}, 600_000);

test("two tabs show one run, and an answer in one of them continues both", async () => {
  const page = await drawn("shared", chain(agent("Writer", "say: one"), approval, editor));
  await run(page);
  await statusIs(page, "waiting");
  const other = await open(serving, "/editor/graph/shared", wide);
  await mouse(other).press("tab", "Run");
  await statusIs(other, "waiting");
  await mouse(other).write("Note (optional)", "Fine.");
  await mouse(other).press("button", "Approve");
  await statusIs(other, "completed");
  await statusIs(page, "completed");
  await nodeOf(page, "n2").getByText("done").waitFor();
  await select(page, "n2");
  await dataOf(page).getByText("Fine.").waitFor();
}, 600_000);

test("a run killed from outside is shown as killed, and runs again from a node", async () => {
  const page = await drawn("outside", chain(agent("Writer", "say: one"), approval, editor));
  await run(page);
  await statusIs(page, "waiting");
  const [first] = await threadsOf("outside");
  await serving.ok(`/api/threads/${first?.threadId}/kill`, {});
  await statusIs(page, "killed");
  await select(page, "n1");
  await mouse(page).press("tab", "Settings");
  await page.getByLabel(/^System prompt/).fill("say: changed");
  await mouse(page).press("button", "Run from this node");
  await statusIs(page, "waiting");
  await select(page, "n1");
  await dataOf(page).getByText("changed").waitFor();
  expect((await threadsOf("outside")).map(({ status }) => status)).toEqual(["waiting", "killed"]);
}, 600_000);

test("a lost worker leaves an interrupted run that Resume continues, also after the server's restart", async () => {
  const graph = chain(agent("Lead", "lead"), approval, editor);
  const page = await drawn("lost", graph);
  const go = model.hold();
  await run(page);
  await traced(page, /running.*n1/).waitFor();
  const { port } = serving;
  await serving.stop("SIGKILL");
  await serving.killWorkers();
  await page.getByText(/The server is unreachable/).waitFor();
  go();
  await serving.serve(port);
  await statusIs(page, "interrupted");
  await nodeOf(page, "n1").getByText("lost").waitFor();
  await mouse(page).press("button", "Resume");
  await statusIs(page, "waiting");
  await page.reload();
  await mouse(page).press("tab", "Run");
  await mouse(page).press("button", "Approve");
  await statusIs(page, "completed");
  expect(await threadsOf("lost")).toHaveLength(1);
}, 600_000);

test("a start whose answer is lost is repeated without a second thread", async () => {
  const page = await drawn("twice", chain(agent("Writer", "say: one"), approval, editor));
  await page.route("**/api/threads", async (route) => {
    await route.fetch();
    await route.abort("connectionreset");
  });
  await run(page);
  await page.getByText("The server can't be reached").first().waitFor();
  await page.unroute("**/api/threads");
  await mouse(page).press("button", "Run");
  await statusIs(page, "waiting");
  expect(await threadsOf("twice")).toHaveLength(1);
}, 600_000);

test("a node of a run opens on its data, and a picked value is inserted into the last field", async () => {
  const rows = '[{"id": 1, "name": "Ada"}, {"id": 2, "name": "<b>Grace</b>\\u202e"}]';
  const flow = {
    ...{ version: "3.18", name: "picked" },
    registry: { params: [`rows([OBJECT]) = ${rows}`], vars: ["$one(STRING)", "$all([OBJECT])"] },
    steps: [
      { id: "Set_All", target: "$all", value: "=rows", next: "Loop_1" },
      { id: "Loop_1", source: "=$all", children: ["Set_One"], next: "Stop_1" },
      { id: "Set_One", target: "$one", value: "=_item.name", next: "RETURN" },
      { id: "Stop_1", reason: "all is " },
    ],
  };
  await serving.add("picked", JSON.stringify(flow, null, 2), "picked.json");
  const page = await open(serving, "/editor/steps/picked", wide);
  const hand = mouse(page);
  await hand.press("button", "Run");
  await hand.press("button", "Run", page.getByRole("dialog"));
  await statusIs(page, "completed");
  await stepOf(page, "Stop_1").click({ position: { x: 40, y: 12 } });
  await dataOf(page).waitFor();
  await hand.press("tab", "Settings");
  const reason = page.getByLabel(/^reason/);
  await reason.click();
  await reason.press("End");
  await stepOf(page, "Set_One").click({ position: { x: 40, y: 12 } });
  await dataOf(page).getByText("<b>Grace</b>").first().waitFor();
  await page.getByLabel("Run of the node", { exact: true }).selectOption({ index: 0 });
  await dataOf(page).getByText("Ada").first().waitFor();
  await hand.press("button", /^Values here/);
  const table = page.getByRole("table", { name: "$all" });
  expect(await violationsOf(page)).toEqual([]);
  await table.getByRole("button", { name: "Ada" }).click();
  await page.waitForFunction(() => document.activeElement?.tagName === "TEXTAREA");
  expect(await reason.inputValue()).toBe("='all is ' + $all[0].name");
  await hand.press("button", "Run");
  await hand.press("button", "Run", page.getByRole("dialog"));
  await page
    .getByRole("region", { name: "The selected run" })
    .getByText("all is Ada")
    .first()
    .waitFor();
}, 600_000);
