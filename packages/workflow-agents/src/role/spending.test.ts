import { expect, test } from "bun:test";
import { noUsage } from "@uncaged/workflow/interpreter";
import type { ThreadContext } from "@uncaged/workflow";
import { currentRun, publish } from "../run/run.ts";
import { paid } from "./spending.ts";

const model = "claude-sonnet-5-5";

const threadOf = (options: Record<string, unknown> = {}): ThreadContext => ({
  threadId: "01T",
  start: { role: "__start__", content: "", meta: { maxRounds: 1, threadId: "01T" }, timestamp: 0 },
  steps: [],
  cwd: "/",
  options,
});

/** Makes one call that reserves and uses a number of tokens. */
async function spend(input_tokens: number): Promise<string> {
  const { reserve, spent } = currentRun();
  const usage = { ...noUsage, input_tokens };
  const { release } = await reserve({ model, usage, cost: null });
  spent.push({ model, usage, cost: null });
  release();
  return "said";
}

const work = (tokens: number) => () => spend(tokens);

test("`paid` returns the result and the spending of a step's work", async () => {
  const { result, spending } = await paid(threadOf(), { stepID: "LLM_A" }, work(1000));
  expect(result).toBe("said");
  expect(spending).toEqual({ usage: { ...noUsage, input_tokens: 1000 }, model, cost: 0.002 });
});

test("all work of a thread shares the thread's limit, including failed work", async () => {
  const thread = threadOf({ maxTokens: 3000 });
  const failed = await paid(thread, { stepID: "LLM_A" }, async () => {
    await spend(1500);
    throw new Error("no use");
  }).catch((error: unknown) => error);
  expect(failed).toMatchObject({ message: "no use", spent: { model, cost: 0.003 } });
  await paid(thread, { stepID: "LLM_B" }, work(1000));
  const refused = await paid(thread, { stepID: "LLM_C" }, work(1000)).catch((e: unknown) => e);
  expect(refused).toMatchObject({ code: "BUDGET_EXCEEDED" });
  expect(await paid(threadOf({ maxTokens: 3000 }), { stepID: "LLM_C" }, work(1000))).toBeDefined();
});

test("`intercept` gets the work's events before their publication, and may suppress them", async () => {
  const observed: unknown[] = [];
  const intercept = (event: object) => observed.push(event) > 0;
  await paid(threadOf(), { stepID: "LLM_A", intercept }, async () =>
    publish("tool_start", { n: 1 }),
  );
  expect(observed).toEqual([{ type: "tool_start", stepID: "LLM_A", payload: { n: 1 } }]);
});
