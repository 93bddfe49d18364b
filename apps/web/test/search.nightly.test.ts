import { beforeAll, expect, test } from "bun:test";
import { bundleOf } from "../../../packages/workflow/test/fixtures/bundles.ts";
import { open, useConsole } from "./browser.ts";

const failing = bundleOf(`
  yield step("importer", "rows 1 to 250");
  throw new Error("orders.csv has no date in line 751");
`);

const serving = useConsole("counter");
let needle: string;
let failed: string;

beforeAll(async () => {
  await serving.add("failing", failing);
  const body = { workflow: "counter", prompt: "find the Needle", params: { depot: "Ulm" } };
  needle = (await serving.ok<{ threadId: string }>("/api/threads", body)).threadId;
  failed = await serving.run("failing");
  await serving.until(failed, "failed");
  // More than a page of newer ones.
  const hash = "AAAA000000001";
  for (let n = 0; n < 150; n += 1) {
    const threadId = `7ZRZ3NDEKTSV4RRFFQ69G${String(n).padStart(5, "0")}`;
    const parameters = { prompt: "hay", options: { maxRounds: 9 } };
    const start = { name: "hay", hash, threadId, parameters, timestamp: 1 };
    const meta = { returnCode: 0, reason: "returned" };
    const end = { role: "__end__", content: "done", meta, timestamp: 2 };
    serving.write(
      `root/logs/${hash}/${threadId}.data.jsonl`,
      `${JSON.stringify(start)}\n${JSON.stringify(end)}\n`,
    );
  }
}, 600_000);

test("a thread is found by what it is about, however many are newer, and the search is in the address", async () => {
  const page = await open(serving);
  const table = page.getByRole("table", { name: "Threads" });
  await table.waitFor();
  expect(await table.getByText(needle).count()).toBe(0);
  const field = page.getByRole("searchbox");
  for (const [words, id] of [
    ["needle", needle],
    ["ULM counter", needle],
    ["no date", failed],
    ["importer", failed],
    [needle.slice(-8).toLowerCase(), needle],
  ] as const) {
    await field.fill(words);
    await page.waitForURL((url) => url.searchParams.get("q") === words);
    await page.getByText("1 thread", { exact: true }).waitFor();
    await table.getByText(id).waitFor();
  }
  await page.getByRole("button", { name: "completed" }).click();
  await field.fill("no date");
  await page.getByText("No thread fits").waitFor();
  const listed = serving.spawn("threads", "--search", "Needle", "--json");
  const rows = JSON.parse(await new Response(listed.stdout).text()) as { threadId: string }[];
  expect(rows.map(({ threadId }) => threadId)).toEqual([needle]);
}, 600_000);
