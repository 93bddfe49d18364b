import { afterAll, beforeAll, expect, test } from "bun:test";
import { bundleOf } from "../../workflow/test/fixtures/bundles.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import type { Attempts, Ledger, ThreadRow } from "../src/entry/api-types.ts";
import { ServingRoot, stopServing } from "./serving.ts";

/** A workflow whose first step records its spending. The test kills the worker during a call of the second step. */
const spender = `import { channel } from "node:diagnostics_channel";
import { existsSync, writeFileSync } from "node:fs";
${bundleOf(`
  const publish = (type, payload) =>
    channel("uncaged.workflow").publish({ type, stepID: "coder", payload });
  const usage = (count) => ({ input_tokens: count, output_tokens: 1 });
  const call = (id, count, state) =>
    publish("llm_usage", { call_id: id, model: "m", usage: usage(count), cost_usd: count / 1000, state });
  if (input.steps.length === 0) {
    yield step("planner", "a plan", { usage: usage(100), cost: 0.1, model: "m" });
  }
  if (input.steps.length > 1) return done;
  const mark = options.cwd + "/" + options.threadId;
  if (!existsSync(mark)) {
    call("lost", 40, "open");
    writeFileSync(mark, "");
    await sleep(1_000_000);
  }
  call("done", 7, "whole");
  publish("llm_token", { delta: "Done." });
  yield step("coder", "Done.", {});
  return done;
`)}`;

let serving: ServingRoot;

beforeAll(async () => {
  serving = await ServingRoot.start();
  await serving.add("spender", spender);
});
afterAll(stopServing, 180_000);

const ledgerOf = (id: string) => serving.ok<Ledger>(`/api/threads/${id}/ledger`);
const attemptsOf = (id: string) => serving.ok<Attempts>(`/api/threads/${id}/attempts`);

/** Returns a thread whose worker was killed in its second step. */
async function killed(): Promise<string> {
  const id = await serving.run("spender");
  await serving.until(id, "running", 1);
  await until(async () =>
    (await attemptsOf(id)).attempts.some(({ usage }) => usage?.input_tokens === 40),
  );
  await serving.killWorkers();
  await serving.until(id, "interrupted");
  return id;
}

test("the spending of a killed worker is in the ledger", async () => {
  const id = await killed();
  const broken = await ledgerOf(id);
  expect(broken.total).toMatchObject({ tokens: 142, cost: 0.14 });
  expect(broken.lost).toMatchObject({ tokens: 41, cost: 0.04 });
  expect(broken.unknown).toBe(1);

  await serving.ok(`/api/threads/${id}/resume`, {});
  await serving.until(id, "completed");
  const whole = await ledgerOf(id);
  expect(whole.total).toMatchObject({ tokens: 150, cost: 0.147 });
  expect(whole.lost).toEqual(broken.lost);

  const rows = await serving.ok<ThreadRow[]>("/api/threads");
  const { tokens, cost, unpriced } = whole.total;
  expect(rows.find(({ threadId }) => threadId === id)?.spent).toEqual({ tokens, cost, unpriced });
}, 180_000);

test("the attempts of a thread have their outcomes, even in a fork", async () => {
  const id = await killed();
  await serving.ok(`/api/threads/${id}/resume`, {});
  await serving.until(id, "completed");
  const { attempts } = await attemptsOf(id);
  expect(attempts.map(({ role, status, step }) => [role, status, step])).toEqual([
    ["planner", "committed", 1],
    [null, "lost", null],
    ["coder", "committed", 2],
  ]);
  expect(attempts[2]?.turns).toMatchObject([{ kind: "text", text: "Done." }]);

  const fork = await serving.ok<{ threadId: string }>(`/api/threads/${id}/fork`, {
    keep: { atStep: 2 },
  });
  await serving.until(fork.threadId, "completed", 2);
  const copied = (await attemptsOf(fork.threadId)).attempts.slice(0, 2);
  expect(copied.map(({ role, saved }) => [role, saved])).toEqual([
    ["planner", true],
    ["coder", true],
  ]);
  expect(copied[1]?.turns).toEqual(attempts[2]?.turns ?? []);
  expect((await ledgerOf(fork.threadId)).total.tokens).toBe(0);
}, 180_000);
