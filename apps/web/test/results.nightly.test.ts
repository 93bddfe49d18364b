import { beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { ThreadRow } from "../../../packages/server/src/entry/api-types.ts";
import { open, useConsoleProcess } from "./browser.ts";
import { keyboard } from "./hand.ts";

const serving = useConsoleProcess();

const entry = join(import.meta.dir, "../../../packages/workflow/src/entry/index.ts");

const giver = `
import { durable } from ${JSON.stringify(entry)};

export const descriptor = { description: "Returns its params", roles: {}, strict: false };

export const run = durable(async function* (step, input) {
  yield* step("worker", () => "worked");
  return input.params?.give;
});
`;

beforeAll(async () => {
  const file = serving.write("giver.ts", giver);
  expect(await serving.spawn("add", "giver", file).exited).toBe(0);
}, 600_000);

/** Runs a thread that returns `give`, waits for its end and returns its id. */
async function given(give: unknown): Promise<string> {
  const { threadId } = await serving.ok<{ threadId: string }>("/api/threads", {
    ...{ workflow: "giver", prompt: "give it", params: { give } },
  });
  await serving.until(threadId, "completed");
  return threadId;
}

test("a thread shows the value that its workflow returned as indented JSON", async () => {
  const names = ["Ada Lovelace", "Grace Hopper", "Alan Turing", "Barbara Liskov"];
  const id = await given({ total: 12, names, none: null });
  const page = await open(serving, `/threads/${id}`);
  const outcome = page.getByRole("region", { name: "Outcome" });
  await outcome.getByRole("button", { name: "Show the result" }).click();
  for (const text of ["total", "12", "Ada Lovelace"])
    await outcome.getByText(text).first().waitFor();
  expect(await outcome.getByText('{"total":12').count()).toBe(0);
}, 600_000);

test("a durable thread is started again with other params, by keyboard alone", async () => {
  const id = await given("before");
  const page = await open(serving, `/threads/${id}`);
  const hand = keyboard(page);
  await hand.press("button", "More actions");
  await hand.press("menuitem", "Start again with these values");
  const dialog = page.getByRole("dialog", { name: "Start again" });
  await dialog.waitFor();
  expect(await dialog.getByLabel("Prompt").inputValue()).toBe("give it");
  const params = dialog.getByLabel("Params (optional)");
  expect(JSON.parse(await params.inputValue())).toEqual({ give: "before" });
  await hand.write("Params (optional)", '{"give": "after"}');
  await hand.press("button", "Start", dialog);
  await page.waitForURL((url) => url.pathname.includes("/threads/") && !url.href.includes(id));
  await page.getByText("after", { exact: true }).first().waitFor();
  const [again, first] = await serving.ok<ThreadRow[]>("/api/threads?workflow=giver&limit=2");
  expect(first?.threadId).toBe(id);
  expect(page.url()).toContain(again?.threadId ?? "none");
  const thread = await serving.ok(`/api/threads/${again?.threadId}`);
  expect(thread).toMatchObject({
    ...{ prompt: "give it", params: { give: "after" }, result: { summary: "after" } },
  });
}, 600_000);
