import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { durable } from "@uncaged/workflow";
import { noUsage } from "@uncaged/workflow/interpreter";
import { openLocalHost, settled } from "@uncaged/workflow/host";
import { runThread } from "@uncaged/workflow/testing";
import { z } from "zod";
import { openRoot } from "../../workflow/src/disk/root.ts";
import { signalWorkers } from "../../workflow/test/fixtures/store.ts";
import { messageOf } from "../../workflow/test/fixtures/until.ts";
import { openAccount } from "../src/ledger/budget.ts";
import { ledgerOf } from "../src/ledger/ledger.ts";
import { modelAgent } from "../src/llm/agent.ts";
import type { ModelProvider } from "../src/llm/provider.ts";
import { roleSteps } from "../src/role/durable.ts";
import { role } from "../src/role/role.ts";
import { anthropicServer } from "./anthropic-server.ts";
import { expectCounted } from "./counted.ts";
import { threadOf } from "./published.ts";
import type { WireServer } from "./wire.ts";

/* Tests threads with an exhausted limit, which wait until the limit is raised. */
setDefaultTimeout(60_000);
const folder = mkdtempSync(join(tmpdir(), "uncaged-budget-"));
const host = openLocalHost({ path: join(folder, "root") });
const turns = 8;
let server: WireServer<{ model: string }>;
beforeAll(async () => {
  server = await anthropicServer((body) => {
    const { messages } = body as { messages: { role: string }[] };
    const n = messages.filter((message) => message.role === "assistant").length + 1;
    return n > turns ? { text: "done" } : { tools: [{ name: "mark", input: { n } }] };
  });
  await host.register("approve", join(import.meta.dir, "approve/approve.ts"));
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

test.each(["nothing", "SIGKILL"] as const)(
  "a role continues where it stopped when the limit is raised, and no turn counts twice (signal to the worker: %s)",
  async (signal) => {
    server.came.splice(0);
    const cwd = mkdtempSync(join(folder, signal));
    const env = {
      ...{ PATH: process.env.PATH ?? "", ANTHROPIC_API_KEY: server.key },
      ANTHROPIC_BASE_URL: server.url,
    };
    let limit = 3000;
    const options = { maxTokens: limit, onBudget: "wait" };
    const ref = await host.start({ workflow: "approve", prompt: "claude", env, cwd, options });
    let waits = 0;
    for (let view = await settled(host, ref); ; view = await settled(host, ref)) {
      if (view.status === "interrupted") {
        await host.control(ref, { kind: "resume", env, cwd });
        continue;
      }
      await expectCounted(host, [ref], [server]);
      const { total } = ledgerOf(await host.attempts(ref));
      expect(total.tokens).toBeLessThanOrEqual(limit);
      if (view.status !== "waiting") {
        expect(view.status).toBe("completed");
        break;
      }
      waits += 1;
      const { content, meta } = view.question;
      expect(meta).toMatchObject({ for: "budget", limit: "maxTokens", amount: limit });
      expect(content).toContain(`${total.tokens.toLocaleString("en-US")} tokens are spent`);
      if (signal !== "nothing")
        await signalWorkers(openRoot({ path: join(folder, "root") }), signal);
      const answer = (value: unknown) => {
        const input = { content: JSON.stringify(value), value };
        return host.control(ref, { kind: "answer", input, env, cwd });
      };
      const refused = [limit, 1, true, "more"].map((bad) => messageOf(answer(bad)));
      for (const message of await Promise.all(refused)) {
        expect(message).toContain("invalid answer to budget");
      }
      await answer((limit += 700));
    }
    expect(waits).toBeGreaterThan(1);
    expect(server.came.length).toBe(turns + 1);
    const marks = readFileSync(join(cwd, "marks"), "utf8").trim().split("\n").map(Number);
    expect(marks).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  },
);

const model = "m";
const prices = { [model]: { input: 0, output: 100 } };
const answering = (outputTokens: number): ModelProvider => ({
  name: "a model",
  async answer({ maxTokens = Infinity }) {
    const output_tokens = Math.min(outputTokens, maxTokens);
    const isCut = output_tokens < outputTokens;
    return {
      ...{ id: "1", model, blocks: [], text: "done", thinking: "", toolUses: [] },
      ...{ stop: isCut ? "truncated" : "end", finishReason: "stop" },
      usage: { ...noUsage, output_tokens },
    };
  },
});

const group = (outputTokens: number, members: number) =>
  durable(async function* (step, input, options) {
    const play = roleSteps(step, input, options);
    const agent = modelAgent(answering(outputTokens), { model, maxTokens: 4096 });
    const one = role({ description: "", systemPrompt: "", schema: z.object({}), agent });
    yield* step.all(Array.from({ length: members }, () => play("player", one)));
    return "";
  });

test("parallel roles with an exhausted limit ask once, and all continue", async () => {
  const options = { prices, maxCost: 0.5, onBudget: "wait" };
  const outcome = await runThread(group(1500, 6), { options, answers: ["10"] });
  expect(outcome.status).toBe("completed");
  const waits = outcome.steps.filter(({ meta }) => meta.for === "budget");
  expect(waits.map((step) => step.role)).toEqual(["__wait__", "__input__"]);
});

test("the request of an answer that the limit cut off is repeated when the limit is raised", async () => {
  const options = { prices, maxCost: 0.2, onBudget: "wait" };
  const { steps, status } = await runThread(group(3000, 1), { options, answers: ["5"] });
  expect([status, steps.length]).toEqual(["completed", 3]);
  // The cost includes both answers.
  expect(steps.at(-1)?.meta.cost).toBeCloseTo(0.5);
});

test("a thread with an exhausted limit fails by default, and an invalid `onBudget` is refused", async () => {
  for (const onBudget of [undefined, "fail", "ask"]) {
    const options = { prices, maxCost: 0.1, ...(onBudget && { onBudget }) };
    const outcome = await runThread(group(3000, 1), { options, answers: ["5"] });
    const code = onBudget === "ask" ? "BAD_BUDGET" : "BUDGET_EXCEEDED";
    expect(outcome).toMatchObject({ status: "failed", error: { code } });
  }
});

test("a recorded call of an earlier worker counts once, even when an execution continues from it", () => {
  const usage = { ...noUsage, output_tokens: 1000 };
  const call = { attempt: "a", stepID: null, model, usage, cost: null, state: "whole" as const };
  const journal = {
    read: async () => [],
    record: async () => true,
    paid: () => [
      { ...call, call: "one" },
      { ...call, call: "two" },
    ],
  };
  const thread = threadOf({ steps: [], options: { prices, maxCost: 1 } });
  const account = openAccount(thread, journal);
  expect(account.remaining()).toBe(0.8);
  const paid = { call: "one", model, usage, cost: null };
  account.takeOver([paid]);
  account.spent.push(paid);
  expect(account.remaining()).toBe(0.8);
  // Another execution continues from the same entry.
  const next = openAccount(thread, journal);
  next.takeOver([paid]);
  next.spent.push(paid);
  expect(next.remaining()).toBe(0.8);
});
