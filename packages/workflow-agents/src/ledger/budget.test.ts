import { describe, expect, test } from "bun:test";
import { createRoleModerator, durable, END, type WorkflowError } from "@uncaged/workflow";
import { noUsage } from "@uncaged/workflow/interpreter";
import { runThread, type RunThreadOptions } from "@uncaged/workflow/testing";
import { z } from "zod";
import { roleSteps } from "../role/durable.ts";
import { role } from "../role/role.ts";
import { currentRun } from "../run/run.ts";

let [asked, running, atOnce] = [0, 0, 0];

/**
 * Returns an agent that calls a model once. It reserves 2,000 input and 1,000 output tokens, and uses 1,000 and 100.
 */
const caller = (model = "claude-sonnet-5-5", wait: () => Promise<void> = async () => undefined) =>
  role({
    description: "Asks",
    systemPrompt: "",
    schema: z.object({}),
    agent: async () => {
      const { reserve, spent } = currentRun();
      const most = { ...noUsage, input_tokens: 2000, output_tokens: 1000 };
      const { release } = await reserve({ model, usage: most, cost: null });
      asked += 1;
      await wait();
      const usage = { ...noUsage, input_tokens: 1000, output_tokens: 100 };
      spent.push({ model, usage, cost: null });
      release();
      return "said";
    },
  });

// One step costs $0.003. The next may cost 2,000 tokens written to the cache and 1,000 of output: $0.015.
async function drive(
  options: Record<string, unknown>,
  more: RunThreadOptions = {},
  model?: string,
) {
  asked = 0;
  const run = createRoleModerator({
    roles: { caller: caller(model) },
    moderator: ({ steps }) => (steps.length < 5 ? "caller" : END),
  });
  const { steps, ...end } = await runThread(run, { options, ...more });
  const error = end.status === "failed" && end.reason === "failed" ? end.error : null;
  return { steps, asked, status: end.status, error: error as WorkflowError | null };
}

describe("a budget", () => {
  test("fails a thread before the call that could exceed it, with a reason and a hint", async () => {
    const { steps, asked: calls, error } = await drive({ maxCost: 0.02 });
    expect([steps.length, calls]).toEqual([2, 2]);
    expect(error).toMatchObject({
      code: "BUDGET_EXCEEDED",
      message:
        "maxCost $0.0200 would be exceeded: $0.0060 are spent, and the next call of claude-sonnet-5-5 could cost $0.0150",
    });
    expect(error?.hint).toContain("uncaged-workflow retry 00000000000000000000000000 --max-cost N");
  });

  test("counts tokens of every kind", async () => {
    const { steps, error } = await drive({ maxTokens: 5000 });
    expect(steps).toHaveLength(2);
    expect(error?.message).toBe(
      "maxTokens 5,000 would be exceeded: 2,200 tokens are spent, and the next call of claude-sonnet-5-5 could use 3,000 tokens",
    );
  });

  test("does not fail a thread that stays within it", async () => {
    expect((await drive({ maxCost: 0.027, maxTokens: 7400 })).status).toBe("completed");
  });

  test("counts the steps in the log, except steps that a fork copied", async () => {
    const { steps } = await drive({ maxCost: 0.02 });
    expect((await drive({ maxCost: 0.02 }, { steps })).asked).toBe(0);
    const forkFrom = { threadId: "A", steps: 2 };
    expect((await drive({ maxCost: 0.02, forkFrom }, { steps })).asked).toBe(2);
  });

  test("in dollars is refused for a model without a known price", async () => {
    const { error, asked: calls } = await drive({ maxCost: 100 }, {}, "house-model");
    expect(calls).toBe(0);
    expect(error).toMatchObject({ code: "PRICE_UNKNOWN" });
    expect((await drive({ maxTokens: 100_000 }, {}, "house-model")).status).toBe("completed");
  });

  test("uses the user's prices in the options, then those in the environment", async () => {
    const env = { UNCAGED_WORKFLOW_PRICES: '{"house-model":{"input":1,"output":1}}' };
    expect((await drive({ maxCost: 0.002 }, { env }, "house-model")).asked).toBe(0);
    expect((await drive({ maxCost: 0.004 }, { env }, "house-model")).asked).toBe(1);
    const prices = { "house-model": { input: 0, output: 0 } };
    expect((await drive({ maxCost: 0.004, prices }, { env }, "house-model")).status).toBe(
      "completed",
    );
  });

  test.each([
    [{ maxCost: 0 }, "BAD_BUDGET"],
    [{ maxCost: "1" }, "BAD_BUDGET"],
    [{ maxTokens: Number.NaN }, "BAD_BUDGET"],
    [{ prices: [] }, "BAD_PRICES"],
    [{ prices: { m: { input: 1 } } }, "BAD_PRICES"],
    [{ prices: { m: { input: 1, output: -1 } } }, "BAD_PRICES"],
    [{ prices: { m: { input: 1, output: 1, cached: 1 } } }, "BAD_PRICES"],
    [{ prices: { m: { input: 1, output: 1, long: { input: 1, output: 1 } } } }, "BAD_PRICES"],
  ])("%p is refused", async (options, code) => {
    expect(await drive(options)).toMatchObject({ asked: 0, error: { code } });
  });

  test("is refused when the environment's prices are invalid JSON", async () => {
    const { error } = await drive({}, { env: { UNCAGED_WORKFLOW_PRICES: "{" } });
    expect(error).toMatchObject({ code: "BAD_PRICES" });
  });
});

describe("agents that run in parallel in one role", () => {
  const most = { ...noUsage, input_tokens: 2000, output_tokens: 1000 };
  const model = "claude-sonnet-5-5";
  /** Returns a role that makes `times` concurrent calls. Each call may cost $0.015, and costs $0.003. */
  const asking = (times: number, turns = 1) =>
    role({
      description: "Asks",
      systemPrompt: "",
      schema: z.object({}),
      agent: async () => {
        const { reserve, spent } = currentRun();
        const ask = async () => {
          for (let turn = 0; turn < turns; turn += 1) {
            const { release } = await reserve({ model, usage: most, cost: null });
            asked += 1;
            atOnce = Math.max(atOnce, (running += 1));
            await new Promise((resolve) => setImmediate(resolve));
            running -= 1;
            const usage = { ...noUsage, input_tokens: 1000, output_tokens: 100 };
            spent.push({ model, usage, cost: null });
            release();
          }
        };
        await Promise.all(Array.from({ length: times }, ask));
        return "said";
      },
    });

  async function askAtOnce(times: number, turns: number, maxCost: number) {
    [asked, running, atOnce] = [0, 0, 0];
    const run = createRoleModerator({
      roles: { caller: asking(times, turns) },
      moderator: ({ steps }) => (steps.length === 0 ? "caller" : END),
    });
    const { status } = await runThread(run, { options: { maxCost } });
    return { status, asked, atOnce };
  }

  test("reserve the maximum cost of each call and wait for reservations, so calls in flight cannot exceed the limit", async () => {
    expect(await askAtOnce(3, 1, 0.02)).toEqual({ status: "failed", asked: 2, atOnce: 1 });
    expect(await askAtOnce(3, 1, 0.031)).toEqual({ status: "completed", asked: 3, atOnce: 2 });
    expect(await askAtOnce(3, 1, 0.046)).toEqual({ status: "completed", asked: 3, atOnce: 3 });
  });

  test("release a call's reservation when the call is answered", async () => {
    expect(await askAtOnce(2, 4, 0.048)).toMatchObject({ status: "completed", asked: 8 });
  });
});

test("share one budget with other roles that run in parallel", async () => {
  asked = 0;
  const slow = caller("claude-sonnet-5-5", () => new Promise((resolve) => setImmediate(resolve)));
  const run = durable(async function* (step, input, options) {
    const play = roleSteps(step, input, options);
    yield* step.all([play("a", slow), play("b", slow, "other"), play("c", slow)]);
    return "";
  });
  const { status } = await runThread(run, { options: { maxCost: 0.02 } });
  expect(status).toBe("failed");
  expect(asked).toBe(2);
});
