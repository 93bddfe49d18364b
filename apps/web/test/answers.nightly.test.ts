import { beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { bundleOf } from "../../../packages/workflow/test/fixtures/bundles.ts";
import { open, useConsole } from "./browser.ts";

/** A workflow that asks, for an answer of a type, and then publishes or not. */
const asking = (type: string, condition: string) => ({
  version: "3.16",
  name: "asking",
  registry: { vars: [`$answer(${type})`] },
  steps: [
    { id: "Pause_Ask", reason: "Publish?", resumeResultTarget: "$answer", next: "Branch_Answer" },
    { id: "Branch_Answer", cases: [[condition, "Stop_Published"]], next: "Stop_Refused" },
    { id: "Stop_Published", reason: "='published ' + $answer" },
    { id: "Stop_Refused", reason: "refused" },
  ],
});

const wait = (meta: object) =>
  bundleOf(`
    let answer = input.steps.find(({ role }) => role === "__input__");
    if (!answer) answer = yield step("__wait__", "Publish?", ${JSON.stringify({ for: "leave", ...meta })});
    yield step("reported", JSON.stringify(answer.meta.value ?? answer.content));
  `);

const serving = useConsole();

beforeAll(async () => {
  const flows = {
    object: asking("OBJECT", "=$answer.approved"),
    bool: asking("BOOL", "=$answer"),
    string: asking("STRING", "=$answer == '12'"),
  };
  for (const [name, flow] of Object.entries(flows)) {
    await serving.add(name, JSON.stringify(flow), `${name}.json`);
  }
  await serving.add("open", wait({}));
  await serving.add("text", wait({ schema: { type: "string", minLength: 1 } }));
}, 600_000);

async function asked(workflow: string): Promise<{ page: Page; id: string }> {
  const id = await serving.run(workflow);
  await serving.until(id, "waiting");
  const page = await open(serving, `/threads/${id}`);
  await page
    .getByLabel(/nswer$/)
    .or(page.getByRole("button", { name: "Approve" }))
    .first()
    .waitFor();
  return { page, id };
}

const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();

test("Approve and Reject of a Pause are what its Branch decides by", async () => {
  for (const [workflow, button, summary] of [
    ["object", "Reject", "refused"],
    ["object", "Approve", 'published {"approved":true}'],
    ["bool", "Reject", "refused"],
    ["bool", "Approve", "published true"],
  ] as const) {
    const { page, id } = await asked(workflow);
    await press(page, button);
    expect((await serving.until(id, "completed")).result?.summary).toBe(summary);
  }
}, 600_000);

test("an open question, and one for a text, is answered by what is typed and by no click", async () => {
  for (const [workflow, text, answer] of [
    ["open", '{"approved":true}', '{"approved":true}'],
    ["open", "shorter, please", '"shorter, please"'],
    ["text", "12", '"12"'],
  ] as const) {
    const { page, id } = await asked(workflow);
    expect(await page.getByRole("button", { name: /^(Approve|Reject)$/ }).count()).toBe(0);
    await page.getByLabel("Your answer").fill(text);
    await press(page, "Send");
    expect((await serving.until(id, "completed")).steps.at(-1)?.content).toBe(answer);
  }
  const { page, id } = await asked("string");
  expect(await page.getByRole("button", { name: "Approve" }).count()).toBe(0);
  await page.getByLabel("Your answer").fill("12");
  await press(page, "Send");
  expect((await serving.until(id, "completed")).result?.summary).toBe("published 12");
}, 600_000);
