import { afterEach, describe, expect, test } from "bun:test";
import { type AgentFn, createRoleModerator, END, type WorkflowError } from "@uncaged/workflow";
import { runThread } from "@uncaged/workflow/testing";
import { z } from "zod";
import { anthropicAgent } from "../src/anthropic/anthropic.ts";
import { inputBound } from "../src/llm/reserve.ts";
import { openaiAgent } from "../src/openai/openai.ts";
import { role } from "../src/role/role.ts";
import { anthropicServer } from "./anthropic-server.ts";
import { openaiServer } from "./openai-server.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import type { WireServer } from "./wire.ts";

let server: WireServer<{ model: string }> | null = null;
afterEach(async () => {
  await server?.stop();
});

const model = "claude-opus-5-5";
const maxTokens = 1000;
// 40,000 bytes. The servers count 10,000 tokens.
const prompt = "abcd".repeat(10_000);

const asked = async (
  agent: AgentFn,
  options: Record<string, unknown>,
  env: Record<string, string>,
  more: { signal?: AbortSignal; prompt?: string } = {},
) => {
  const coder = role({ description: "Codes", systemPrompt: "", schema: z.object({}), agent });
  const run = createRoleModerator({
    roles: { coder },
    moderator: ({ steps }) => (steps.length === 0 ? "coder" : END),
  });
  const end = await runThread(run, { prompt, options, env, ...more });
  const error = end.status === "failed" && end.reason === "failed" ? end.error : null;
  return { status: end.status, code: (error as WorkflowError | null)?.code ?? null };
};

const anthropic = async (options: Record<string, unknown>, at: { url: string; key: string }) =>
  await asked(anthropicAgent({ model, maxTokens, maxRetries: 0 }), options, {
    ANTHROPIC_API_KEY: at.key,
    ANTHROPIC_BASE_URL: at.url,
  });

describe("a call to Anthropic in a thread with a limit", () => {
  test("is sent without a count request when it is far below the limit", async () => {
    const at = await anthropicServer([{ text: "done" }]);
    server = at;
    expect(await anthropic({ maxTokens: 60_000 }, at)).toEqual({ status: "completed", code: null });
    expect(at.counts).toEqual([]);
    expect(await anthropic({}, at)).toEqual({ status: "completed", code: null });
    expect(at.counts).toEqual([]);
  });

  test("is counted when its bytes exceed the limit, and sent when its count does not", async () => {
    const at = await anthropicServer([{ text: "done" }]);
    server = at;
    expect(await anthropic({ maxTokens: 12_000 }, at)).toEqual({ status: "completed", code: null });
    expect(at.counts).toHaveLength(1);
    expect(at.counts[0]?.body).toMatchObject({ model, messages: [{ role: "user" }] });
    expect(at.counts[0]?.body).not.toHaveProperty("max_tokens");
    expect(at.came).toHaveLength(1);
  });

  test("is not sent when its count exceeds the limit", async () => {
    const at = await anthropicServer([{ text: "done" }]);
    server = at;
    const refused = { status: "failed", code: "BUDGET_EXCEEDED" } as const;
    expect(await anthropic({ maxTokens: 10_500 }, at)).toEqual(refused);
    // Writing 10,000 tokens to the cache costs $0.05, and an answer of 1,000 tokens $0.02.
    expect(await anthropic({ maxCost: 0.069 }, at)).toEqual(refused);
    expect(at.counts).toHaveLength(2);
    expect(at.came).toHaveLength(0);
  });

  test("fails with the error of the count request", async () => {
    const at = await anthropicServer([{ text: "done" }]);
    server = at;
    at.refuseCounts({ kind: "status", status: 529, type: "", message: "busy" });
    expect((await anthropic({ maxTokens: 12_000 }, at)).code).toBe("LLM_OVERLOADED");
    at.refuseCounts({ kind: "page", status: 200, body: "<html>" });
    expect((await anthropic({ maxTokens: 12_000 }, at)).code).toBe("LLM_BAD_STREAM");
    at.refuseCounts({ kind: "status", status: 404, type: "", message: "no such thing" });
    expect((await anthropic({ maxTokens: 12_000 }, at)).code).toBe("BUDGET_EXCEEDED");
    expect(at.came).toHaveLength(0);
  });

  test("is cancelled with its thread during the count request", async () => {
    const at = await anthropicServer([{ text: "done" }]);
    server = at;
    at.refuseCounts({ kind: "hang" });
    const abort = new AbortController();
    const agent = anthropicAgent({ model, maxTokens, maxRetries: 0 });
    const env = { ANTHROPIC_API_KEY: at.key, ANTHROPIC_BASE_URL: at.url };
    const running = asked(agent, { maxTokens: 12_000 }, env, { signal: abort.signal });
    await until(() => at.counts.length === 1);
    abort.abort();
    expect((await running).status).not.toBe("completed");
    expect(at.came).toHaveLength(0);
  });

  test("is always counted with a picture, whose bytes do not bound its tokens", async () => {
    const at = await anthropicServer([{ text: "done" }]);
    server = at;
    const source = { type: "url", url: "https://example.com/a.png" };
    const messages = () => [{ role: "user" as const, content: [{ type: "image", source }] }];
    const agent = anthropicAgent({ model, maxTokens, maxRetries: 0, messages });
    const env = { ANTHROPIC_API_KEY: at.key, ANTHROPIC_BASE_URL: at.url };
    expect((await asked(agent, { maxTokens: 60_000 }, env)).status).toBe("completed");
    expect(at.counts).toHaveLength(1);
  });
});

test("a call to another provider is bounded by its bytes", async () => {
  const at = await openaiServer([{ text: "done" }]);
  server = at;
  const agent = openaiAgent({ model, maxTokens });
  const env = { OPENAI_API_KEY: at.key, OPENAI_BASE_URL: at.url };
  expect((await asked(agent, { maxTokens: 40_000 }, env)).code).toBe("BUDGET_EXCEEDED");
  expect(at.came).toHaveLength(0);
  expect((await asked(agent, { maxTokens: 45_000 }, env)).status).toBe("completed");
});

test.each(["😀", "漢", "aGk=", "00ff", "\u0000", "\ud800"])(
  "the bound of an input of %j is at least one token for each byte",
  (piece) => {
    const content = piece.repeat(1000);
    const most = inputBound({ system: "", tools: [], messages: [{ role: "user", content }] });
    expect(most).toBeGreaterThan(Buffer.byteLength(content));
  },
);
