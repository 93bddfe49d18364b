import { describe, expect, test } from "bun:test";
import { createRoleModerator, durable, END, type WorkflowError } from "@uncaged/workflow";
import { noUsage } from "@uncaged/workflow/interpreter";
import { runThread } from "@uncaged/workflow/testing";
import { z } from "zod";
import { openAccount } from "../src/ledger/budget.ts";
import { openaiAgent } from "../src/openai/openai.ts";
import { openaiServer } from "./openai-server.ts";
import { modelAgent, type ModelOptions } from "../src/llm/agent.ts";
import type { ModelProvider, ModelRequest } from "../src/llm/provider.ts";
import { asTool } from "../src/role/as-tool.ts";
import { roleSteps } from "../src/role/durable.ts";
import { role } from "../src/role/role.ts";
import { scriptedProvider } from "../src/scripted/provider.ts";
import { toolRegistry } from "../src/tools/registry.ts";
import { threadOf } from "./published.ts";

const model = "claude-opus-5-5";
// In dollars per million tokens. An answer of 1,200 tokens costs $0.12.
const prices = { [model]: { input: 0, output: 100 } };

/**
 * Returns a provider whose answers wait for some turns of the event loop, and have `outputTokens` tokens or the
 * request's maximum.
 */
function provider(outputTokens: number) {
  const seen = { requests: [] as ModelRequest[], running: 0, atOnce: 0 };
  const answering: ModelProvider = {
    name: "a model",
    async answer(request) {
      seen.requests.push(request);
      seen.atOnce = Math.max(seen.atOnce, (seen.running += 1));
      for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      seen.running -= 1;
      const output_tokens = Math.min(outputTokens, request.maxTokens ?? Infinity);
      const isCut = output_tokens < outputTokens;
      return {
        ...{ id: "1", model, blocks: [], text: "done", thinking: "", toolUses: [] },
        ...{ stop: isCut ? "truncated" : "end", finishReason: "stop" },
        usage: { ...noUsage, output_tokens },
      };
    },
  };
  return { seen, answering };
}

const player = (answering: ModelProvider, options: Partial<ModelOptions> = {}) =>
  role({
    description: "Plays",
    systemPrompt: "",
    schema: z.object({}),
    agent: modelAgent(answering, { model, maxTokens: 4096, ...options }),
  });

async function playOne(answering: ModelProvider, options: object, own: Partial<ModelOptions> = {}) {
  const run = createRoleModerator({
    roles: { player: player(answering, own) },
    moderator: ({ steps }) => (steps.length === 0 ? "player" : END),
  });
  const end = await runThread(run, { options: { prices, ...options } });
  const error = end.status === "failed" && end.reason === "failed" ? end.error : null;
  return { status: end.status, error: error as WorkflowError | null };
}

describe("a thread's limit", () => {
  test("suffices for 20 concurrent agents whose answers fit into it", async () => {
    const { seen, answering } = provider(1200);
    const run = durable(async function* (step, input, options) {
      const play = roleSteps(step, input, options);
      const one = player(answering);
      yield* step.all(Array.from({ length: 20 }, (_, at) => play(`player${at}`, one)));
      return "";
    });
    const { status, steps } = await runThread(run, { options: { prices, maxCost: 2.5 } });
    expect(status).toBe("completed");
    const costs = steps.map(({ meta }) => Number(meta.cost));
    expect(costs.reduce((sum, cost) => sum + cost, 0)).toBeCloseTo(2.4);
    expect(seen.atOnce).toBeGreaterThan(3);
    // The rest of the limit caps the last answers.
    const caps = seen.requests.map(({ maxTokens = 0 }) => maxTokens);
    expect(caps[0]).toBe(4096);
    expect(caps.at(-1)).toBe(2200);
  });

  test("suffices for 20 concurrent calls of roles within their budgets, and a call with too small a budget does not affect the others", async () => {
    const { seen, answering } = provider(1200);
    const worker = player(answering);
    const tools = toolRegistry([
      asTool(worker, { name: "worker", budget: { maxCost: 0.2 } }),
      asTool(worker, { name: "poor", budget: { maxCost: 0.05 } }),
    ]);
    const calls = Array.from({ length: 21 }, (_, at) => ({
      tool: at === 10 ? "poor" : "worker",
      input: { message: `part ${at}` },
    }));
    const shown: { content: string; is_error: boolean }[] = [];
    const script = scriptedProvider({
      "You lead": [
        calls,
        ({ messages }) => {
          shown.push(...(messages.at(-1)?.content as unknown as typeof shown));
          return "all is done";
        },
      ],
    });
    const lead = role({
      ...{ description: "Leads", systemPrompt: "You lead", schema: z.object({}) },
      agent: modelAgent(script, { model: "scripted", tools }),
    });
    const run = createRoleModerator({
      roles: { lead },
      moderator: ({ steps }) => (steps.length === 0 ? "lead" : END),
    });
    const { status, steps } = await runThread(run, { options: { prices, maxCost: 2.5 } });
    expect([status, steps[0]?.content]).toEqual(["completed", "all is done"]);
    const failed = shown.filter(({ is_error }) => is_error);
    expect(failed.map(({ content }) => content.split(":")[0])).toEqual([
      "maxCost $0.0500 of the budget of poor would be exceeded",
    ]);
    expect(shown.filter(({ content }) => content === "done")).toHaveLength(20);
    expect(Number(steps[0]?.meta.cost)).toBeCloseTo(2.4);
    expect(seen.atOnce).toBeGreaterThan(3);
    // The budget of each call limits its answer.
    expect(new Set(seen.requests.map(({ maxTokens }) => maxTokens))).toEqual(new Set([2000]));
  });

  test("is reported as the cause when it cuts an answer off", async () => {
    const { answering } = provider(3000);
    const { error } = await playOne(answering, { maxCost: 0.2 });
    expect(error).toMatchObject({ code: "BUDGET_EXCEEDED" });
    expect(error?.message).toContain("cut the answer off after 2000 tokens");
    expect(await playOne(answering, { maxCost: 0.2 }, { allowTruncated: true })).toMatchObject({
      status: "completed",
    });
  });

  test("prevents a call when the rest of the limit is too small for an answer", async () => {
    const { seen, answering } = provider(1);
    const { error } = await playOne(answering, { maxCost: 0.1 });
    expect(error?.message).toBe(
      "maxCost $0.1000 would be exceeded: $0.0000 are spent, and the next call of claude-opus-5-5 could cost $0.1024",
    );
    expect(seen.requests).toEqual([]);
  });
});

test("a call without reported usage counts as the maximum that it could have used", async () => {
  const server = await openaiServer(() => ({ text: "done", isUncounted: true }));
  const agent = openaiAgent({ model: "house-model", maxTokens: 1000 });
  const coder = role({ description: "", agent, systemPrompt: "", schema: z.object({}) });
  const run = createRoleModerator({ roles: { coder }, moderator: () => "coder" });
  const env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: server.key };
  try {
    const end = await runThread(run, { options: { maxTokens: 9000 }, env, maxRounds: 20 });
    expect(end).toMatchObject({ status: "failed", error: { code: "BUDGET_EXCEEDED" } });
    const spent = end.steps.map(({ meta }) => meta.usage as typeof noUsage);
    expect(spent.length).toBeGreaterThan(1);
    for (const usage of spent) expect(usage).toMatchObject({ output_tokens: 1000 });
  } finally {
    await server.stop();
  }
});

describe("the reservations of calls in flight", () => {
  const usage = { ...noUsage, output_tokens: 1000 };
  const open = (maxCost: number) =>
    openAccount(threadOf({ steps: [], options: { prices, maxCost } }));
  const most = { model, usage, cost: null };

  test("are reported apart from spending", async () => {
    const { reserve, spent } = open(0.25);
    spent.push({ ...most, usage: { ...noUsage, output_tokens: 500 } });
    await reserve(most);
    expect(reserve({ ...most, cost: 0.2 }, { waits: false })).rejects.toThrow(
      "$0.0500 are spent, $0.1000 are reserved by calls in flight, and the next call of claude-opus-5-5 could cost $0.2000",
    );
  });

  test("stay until the calls end, even after their role has ended", async () => {
    const thread = threadOf({ steps: [], options: { prices, maxCost: 0.15 } });
    const failed = openAccount(thread);
    const { release } = await failed.reserve(most);
    failed.close(false);
    const other = openAccount(thread);
    expect(other.reserve(most, { waits: false })).rejects.toMatchObject({
      code: "BUDGET_EXCEEDED",
    });
    const waiting = other.reserve(most);
    release();
    expect((await waiting).outputTokens).toBe(1000);
  });

  test("do not delay a call whose thread is killed", async () => {
    const { reserve } = open(0.15);
    await reserve(most);
    const abort = new AbortController();
    const waiting = reserve(most, { signal: abort.signal });
    abort.abort(new Error("killed"));
    expect(waiting).rejects.toThrow("killed");
  });
});
