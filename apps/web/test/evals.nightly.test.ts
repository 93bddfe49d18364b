import { beforeAll, expect, test } from "bun:test";
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { keepPicture, type Look, open, useConsoleProcess } from "./browser.ts";
import { darken, violationsOf } from "./violations.ts";

const serving = useConsoleProcess();
let id = "";

/** A workflow that searches its prompt for a word, and fails for one prompt. */
const finder = (word: string, ms: number): string => `
  import { createRoleModerator, END } from "@uncaged/workflow";
  const usage = { input_tokens: 1200, output_tokens: 90, thinking_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0 };
  const reviewer = async ({ start }) => {
    if (start.content.includes("binary")) throw new Error("the change is binary: there is nothing to read");
    await new Promise((go) => setTimeout(go, ${ms}));
    const found = start.content.includes("${word}");
    return { content: found ? "A bug." : "Fine.", meta: { found, usage, cost: ${ms} / 10_000, model: "m" } };
  };
  export const descriptor = { description: "Reviews a change", roles: { reviewer: { description: "", schema: {} } } };
  export const run = createRoleModerator({
    roles: { reviewer },
    moderator: ({ steps }) => (steps.length > 0 ? END : "reviewer"),
  });`;

const scorer = `export default ({ expected }, thread) => {
  const { found } = thread.steps[0].meta;
  return { score: found === expected ? 1 : 0, reason: found ? "it reported a bug" : "it found nothing" };
};`;

const cases = [
  {
    id: "off-by-one",
    prompt: "for (let i = 0; i <= list.length; i += 1) sum += list[i];",
    expected: true,
  },
  {
    id: "leaves-the-file-open",
    prompt: "const file = open(path); return read(file);",
    expected: true,
  },
  { id: "sound", prompt: "return list.reduce((sum, n) => sum + n, 0);", expected: false },
  { id: "binary", prompt: "a binary file", expected: false },
];

beforeAll(async () => {
  const write = (name: string, text: string) => writeFileSync(join(serving.folder, name), text);
  write("v1.ts", finder("<=", 60));
  write("v2.ts", finder("open", 20));
  write("score.ts", scorer);
  write("changes.jsonl", cases.map((one) => JSON.stringify(one)).join("\n"));
  const run = async (...args: string[]) => {
    const child = serving.spawn(...args, "--json");
    const [text, code] = await Promise.all([new Response(child.stdout).text(), child.exited]);
    expect([code, text]).toEqual([0, text]);
    return JSON.parse(text) as { hash: string; id: string };
  };
  const { hash } = await run("add", "review", "v1.ts");
  await run("add", "review", "v2.ts");
  ({ id } = await run("eval", `review@${hash},review`, "changes.jsonl", "--score", "score.ts"));
}, 600_000);

const looks: Record<string, Look> = { wide: {}, phone: { width: 380, height: 760 } };

test.each(Object.entries(looks))(
  "in the look %s, the list and the comparison are complete and pass axe",
  async (name, look) => {
    for (const [path, what] of [
      ["/evals", "changes.jsonl"],
      [`/evals/${id}`, "leaves-the-file-open"],
    ] as const) {
      const page = await open(serving, path, look);
      await page.getByText(what).first().waitFor();
      expect(await violationsOf(page)).toEqual([]);
      const tooWide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(tooWide).toBeLessThanOrEqual(0);
      const picture = path === "/evals" ? "evals" : "eval";
      await keepPicture(page, `${picture}-${name}`);
      await darken(page);
      expect(await violationsOf(page, "color-contrast")).toEqual([]);
      await keepPicture(page, `${picture}-${name}-dark`);
    }
  },
  600_000,
);

test("an eval is found, its versions compared, its cases filtered, and each leads to its thread", async () => {
  const page = await open(serving, "/");
  await page.getByRole("link", { name: "Evals" }).click();
  await page.getByRole("link", { name: "changes.jsonl" }).click();
  const [before, after] = [page.getByRole("article").first(), page.getByRole("article").last()];
  await before.getByText("50%").waitFor();
  expect(await before.innerText()).toContain("baseline");
  expect(await after.innerText()).toContain("1 case worse, 1 case better");
  expect(await after.innerText()).toContain("1 failed");
  await page.getByRole("button", { name: "Worse 1" }).click();
  const other = page.getByRole("heading", { name: "leaves-the-file-open" });
  await other.waitFor({ state: "detached" });
  await page.getByRole("heading", { name: "off-by-one" }).waitFor();
  expect(await page.getByRole("heading", { level: 3 }).count()).toBe(1);
  await page.getByLabel("Compare with").selectOption({ index: 1 });
  await other.waitFor();
  await page.reload();
  await other.waitFor();
  await page.getByRole("link", { name: "did not pass" }).click();
  await page.getByText("Fine.").first().waitFor();
}, 600_000);

test("an eval of 10,000 cases shows 50 of them at a time, and grows while it runs", async () => {
  const [large, hash] = ["ZZZZZZZZZZZZZ", "0000000000001"];
  const folder = join(serving.path, "evals", large);
  mkdirSync(folder, { recursive: true });
  const many = Array.from({ length: 10_000 }, (_, index) => ({ id: `case-${index}`, prompt: "p" }));
  const of = { dataset: { file: "large.jsonl", hash }, scorer: { file: "score.ts", hash } };
  const head = { version: 1, id: large, createdAt: 1_770_000_000_000, ...of, cases: many };
  writeFileSync(join(folder, "eval.json"), JSON.stringify(head));
  const threadId = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
  const done = {
    n: 1,
    threadId,
    outcome: "scored",
    reason: null,
    error: null,
    cost: 0,
    unpriced: 0,
  };
  const lineOf = (line: object) => `${JSON.stringify(line)}\n`;
  const resultOf = (name: string, pass: boolean) =>
    lineOf({
      ...{ kind: "result", ...done, case: name, score: Number(pass), pass },
      ...{ tokens: 1, durationMs: 1, at: 1 },
    });
  const record = join(folder, `${hash}.jsonl`);
  const results = many.map(({ id: name }, index) => resultOf(name, index % 100 !== 99));
  const first = lineOf({ kind: "version", hash, workflow: "review", at: 1 });
  const started = lineOf({ kind: "started", case: "case-0", n: 2, threadId, at: 1 });
  writeFileSync(record, [first, ...results, started].join(""));
  const page = await open(serving, `/evals/${large}`);
  const shown = page.getByRole("heading", { level: 3, name: /^case-/ });
  await page.getByRole("button", { name: "Show 50 more of 10,000" }).click();
  await page.getByRole("heading", { name: "case-99" }).waitFor();
  expect(await shown.count()).toBe(100);
  await page.getByRole("button", { name: "Not passed 100" }).click();
  await page.getByRole("heading", { name: "case-4999" }).waitFor();
  expect(await shown.count()).toBe(50);
  appendFileSync(record, resultOf("case-0", false));
  await page.getByRole("button", { name: "Not passed 101" }).waitFor();
}, 60_000);
