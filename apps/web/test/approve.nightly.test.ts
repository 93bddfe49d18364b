import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { anthropicServer } from "../../../packages/workflow-agents/test/anthropic-server.ts";
import type { WireServer } from "../../../packages/workflow-agents/test/wire.ts";
import { keepPicture, open, useConsole } from "./browser.ts";

/* A person decides on a model's tool calls in the console. */
const model: WireServer<object> = await anthropicServer((body) => {
  const { messages } = body as { messages: object[] };
  if (messages.length > 1) return { text: JSON.stringify(messages.at(-1)) };
  const call = (n: number) => ({ name: "deploy", input: { n, note: ` of ${n}` } });
  return { text: "I deploy three.", tools: [call(1), call(2), call(3)] };
});
const serving = useConsole();
// A thread gets the environment of the server that starts it.
Object.assign(serving.more, { ANTHROPIC_API_KEY: model.key, ANTHROPIC_BASE_URL: model.url });

beforeAll(async () => {
  const source = join(import.meta.dir, "../../../packages/workflow-agents/test/approve/approve.ts");
  expect(await serving.spawn("add", "deploys", source).exited).toBe(0);
}, 600_000);
afterAll(() => model.stop());

test("a waiting call shows its tool and input, and is approved, edited or rejected", async () => {
  const started = { workflow: "deploys", prompt: "claude" };
  const { threadId: id } = await serving.ok<{ threadId: string }>("/api/threads", started);
  await serving.until(id, "waiting");
  const page = await open(serving, "/inbox");
  const card = page.getByRole("region", { name: new RegExp(id) });
  await card.getByText("Input of deploy").waitFor();
  expect(await card.innerText()).toContain('claude asks to run deploy {"n":1,"note":" of 1"}');
  await keepPicture(page, "approve-inbox");
  await card.getByRole("button", { name: "Approve" }).click();

  await card.getByText('"n":2').waitFor();
  await card.getByRole("button", { name: "Edit" }).click();
  const input = card.getByLabel("Input in place of the model's");
  expect(await input.inputValue()).toBe('{\n  "n": 2,\n  "note": " of 2"\n}');
  await input.fill('{"n": 2, ');
  await card.getByRole("button", { name: "Approve with this input" }).click();
  await card.getByText("This is no JSON").waitFor();
  await input.fill('{"n": "two"}');
  await card.getByRole("button", { name: "Approve with this input" }).click();
  await card.getByText("does not fit what tool asks for").waitFor();
  await keepPicture(page, "approve-edit");
  await input.fill('{"n": 2, "note": " by hand"}');
  await card.getByRole("button", { name: "Approve with this input" }).click();

  const thread = await open(serving, `/threads/${id}`, { theme: "dark" });
  await thread.getByText('"n":3').first().waitFor();
  await thread.getByLabel("Reason for a rejection").fill("not on a Friday");
  await keepPicture(thread, "approve-reject");
  await thread.getByRole("button", { name: "Reject", exact: true }).click();
  const { steps } = await serving.until(id, "completed");
  expect(steps.at(-1)?.content).toContain("a person refused this call: not on a Friday");
  const marks = join(serving.folder, "marks");
  expect(existsSync(marks) && readFileSync(marks, "utf8")).toBe("1 of 1\n2 by hand\n");
  await thread.getByText("completed").first().waitFor();
  await keepPicture(thread, "approve-done");
}, 600_000);
