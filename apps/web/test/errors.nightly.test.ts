import { beforeAll, expect, test } from "bun:test";
import { linkOf, open, useConsole, rowOf } from "./browser.ts";
import { detailsOf } from "./trace.ts";
import { violationsOf } from "./violations.ts";

const serving = useConsole("endless");

beforeAll(async () => {
  for (const [name, text] of Object.entries({ deep, caught, tried, strange })) {
    expect((await serving.add(name, text, `${name}.ts`)).ok).toBe(true);
  }
}, 600_000);

/** The role `writer` throws three calls deep, with a cause. A call in tail position leaves no frame. */
const deep = `import { durable } from "@uncaged/workflow";

const parse = (line: string): never => {
  throw new TypeError(\`no date in \${line}\`, { cause: new RangeError("column 7 of 5") });
};
const readRow = (row: number) => [parse(\`row \${row}\`)];
const readFile = (rows: number) => Array.from({ length: rows }, (_, row) => readRow(row + 750)).flat();

export const descriptor = {
  description: "reads a file",
  roles: { writer: { description: "writes", schema: {} } },
};
export const run = durable(async function* (step) {
  yield* step("planner", async () => "a plan");
  return yield* step("writer", async () => readFile(3));
});
`;

const caught = deep.replace(
  'return yield* step("writer", async () => readFile(3));',
  `try {
    yield* step("writer", async () => readFile(3));
  } catch {
    yield* step("writer", async () => "written without a date");
  }
  return "done";`,
);

test("an error three calls deep in a role of a minified bundle shows the author's line, the role and the cause", async () => {
  const id = await serving.run("deep");
  await serving.until(id, "failed");
  for (const look of [{ theme: "light" }, { theme: "dark" }, { width: 380 }] as const) {
    const page = await open(serving, `/threads/${id}?step=2`, look);
    const card = page.getByRole("article", { name: "Details of writer" });
    await card.getByText("TypeError", { exact: true }).first().waitFor();
    await card.getByText("no date in row 750").first().waitFor();
    await card
      .getByText(/caused by/)
      .getByText("RangeError")
      .waitFor();
    await card.getByText("column 7 of 5").first().waitFor();
    const frame = card.getByRole("group", { name: /deep\.ts, line 4$/ }).first();
    await frame.getByText(/deep\.ts:4:\d+$/).waitFor();
    const line = frame.locator(".source").nth(2);
    await line.waitFor();
    expect(await line.textContent()).toBe(
      '4  throw new TypeError(`no date in ${line}`, { cause: new RangeError("column 7 of 5") });',
    );
    expect(await frame.locator(".bg-red-soft.source").count()).toBe(1);
    await card
      .getByText(/^\d+ frames$/)
      .first()
      .click();
    for (const name of ["parse", "readRow", "readFile"]) {
      await card.getByRole("listitem").filter({ hasText: name }).first().waitFor();
    }
    await page.getByText(/TypeError in writer, at step 2/).waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
    expect(await violationsOf(page)).toEqual([]);
  }
}, 600_000);

const tried = `import { durable } from "@uncaged/workflow";
export const descriptor = { description: "tries", roles: { charge: { description: "pays", schema: {} } } };
export const run = durable(async function* (step, { params }) {
  let tries = 0;
  const charge = async () => {
    tries += 1;
    if (tries < 3) throw new Error("refused " + tries);
    return "paid";
  };
  return yield* step("charge", charge, { retry: { attempts: 4, backoff: params.backoff } });
});
`;

test("each try of a step is an attempt, and a failed attempt shows the time of the next try", async () => {
  const start = async (backoff: string) => {
    const body = { workflow: "tried", params: { backoff } };
    return (await serving.ok<{ threadId: string }>("/api/threads", body)).threadId;
  };
  const id = await start("1ms");
  await serving.until(id, "completed");
  const page = await open(serving, `/threads/${id}`);
  for (const [number, tag, text] of [
    [1, "try 1 of 4", "refused 1"],
    [2, "try 2 of 4", "refused 2"],
    [3, "try 3", "paid"],
  ] as const) {
    const card = await detailsOf(page, number, "charge");
    await card.getByText(tag, { exact: true }).first().waitFor();
    await card.getByText(text).first().waitFor();
    await card.getByTitle(number === 3 ? "done" : "failed", { exact: true }).waitFor();
  }
  const slow = await start("9.9s");
  await page.goto(`http://127.0.0.1:${serving.port}/threads/${slow}?step=1`);
  await page.getByText(/^Trying again in [\d.]+ s$/).waitFor();
  await serving.ok(`/api/threads/${slow}/kill`, { force: true });
  const asleep = await start("30m");
  await page.goto(`http://127.0.0.1:${serving.port}/threads/${asleep}?step=1`);
  await page.locator("main header").getByText("sleeping", { exact: true }).waitFor();
  await page.getByText(/^Trying again in \d\d m/).waitFor();
}, 600_000);

const strange = `export const descriptor = {
  description: "promises a count",
  roles: { counter: {
    description: "counts",
    schema: { type: "object", properties: { count: { type: "number" } }, required: ["count"] },
  } },
};
export async function* run() {
  yield { role: "counter", content: "one", meta: { count: "one" } };
  yield { role: "stranger", content: "who?", meta: {} };
  yield { role: "counter", content: "two", meta: { count: 2 } };
  return { returnCode: 0, summary: "" };
}
`;

test("only a step that breaks the descriptor has a warning on its card", async () => {
  const id = await serving.run("strange");
  await serving.until(id, "completed");
  const page = await open(serving, `/threads/${id}`);
  const warnings = async (number: number, name: string) =>
    (await detailsOf(page, number, name)).getByRole("list", { name: "Warnings" });
  await (await warnings(1, "counter")).getByText(/count/).waitFor();
  await (await warnings(2, "stranger")).getByText(/stranger|descriptor/).waitFor();
  expect(await (await warnings(3, "counter")).count()).toBe(0);
  expect(await violationsOf(page)).toEqual([]);
}, 600_000);

test("a thread that ran out of rounds is shown as stopped, and continues with more rounds", async () => {
  const body = { workflow: "endless", maxRounds: 3 };
  const { threadId } = await serving.ok<{ threadId: string }>("/api/threads", body);
  await serving.until(threadId, "completed");
  const page = await open(serving);
  await rowOf(page, threadId).getByTitle("stopped at 3 steps").waitFor();
  await linkOf(page, threadId).click();
  await page.getByText(/It reached its limit of rounds/).waitFor();
  await page.getByRole("button", { name: "Retry with more rounds…" }).press("Enter");
  const dialog = page.getByRole("dialog");
  const rounds = dialog.getByLabel("Max rounds");
  expect(await rounds.inputValue()).toBe("6");
  for (const wrong of ["3", "x", "", "4.5"]) {
    await rounds.fill(wrong);
    expect(await dialog.getByRole("button", { name: "Retry" }).isDisabled()).toBe(true);
  }
  await rounds.fill("5");
  await rounds.press("Enter");
  await page.waitForURL((url) => !url.href.includes(threadId));
  await page.locator("main header").getByText("stopped at 5 steps", { exact: true }).waitFor();
}, 600_000);
