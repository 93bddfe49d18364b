import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { addUsage, noUsage } from "@uncaged/workflow/interpreter";
import type { ThreadContext, Usage, WorkflowError } from "@uncaged/workflow";
import { z } from "zod";
import { claudeCode } from "../src/command/claude-code.ts";
import { role } from "../src/role/role.ts";
import { anthropicServer } from "./anthropic-server.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import {
  failureOf,
  type Observed,
  observed,
  payloadOf,
  threadOf,
  typesOf,
  type Sessions,
} from "./published.ts";
import type { Counted, Reply } from "./wire.ts";

// Claude Code's own binary. Its package has a separate package for each platform.
const require = createRequire(import.meta.url);
const wrapper = createRequire(require.resolve("@anthropic-ai/claude-code/package.json"));
const own = `@anthropic-ai/claude-code-${process.platform}-${process.arch}/package.json`;
const command = join(dirname(wrapper.resolve(own)), "claude");

type Server = Awaited<ReturnType<typeof anthropicServer>>;
let cwd: string;
let home: string;
let server: Server | undefined;
beforeEach(() => {
  cwd = realpathSync(mkdtempSync(join(tmpdir(), "uncaged-claude-")));
  home = mkdtempSync(join(tmpdir(), "uncaged-claude-home-"));
});
afterEach(async () => {
  await server?.stop();
  for (const folder of [cwd, home]) rmSync(folder, { recursive: true, force: true });
});

const serve = async (answer: (messages: string, nth: number) => Reply): Promise<Server> => {
  server = await anthropicServer(({ messages }, nth) => answer(JSON.stringify(messages), nth));
  return server;
};

const envOf = (at: Server) => ({
  PATH: process.env.PATH ?? "",
  HOME: home,
  ANTHROPIC_API_KEY: at.key,
  ANTHROPIC_BASE_URL: at.url,
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  CLAUDE_CODE_MAX_RETRIES: "0",
});

const run = (
  at: Server,
  memory = {},
  thread: Partial<ThreadContext> = {},
  result?: Observed,
  remembered?: number,
) => {
  const env = envOf(at);
  const agent = claudeCode({ command, args: ["--allowedTools", "Bash"], graceMs: 1000 });
  const whole = threadOf({ cwd, env, role: "coder", ...thread });
  return observed(
    () => agent(whole, "You are the coder of this thread."),
    { memory, remembered },
    result,
  );
};

describe("Claude Code", () => {
  test("works with its own tools, and publishes its thinking, text, calls and costs", async () => {
    const bash = { command: "echo fixed > sum.txt; cat sum.txt", description: "Fixes it" };
    const at = await serve((messages) =>
      messages.includes("tool_result")
        ? { text: "The sum is fixed." }
        : { thinking: "hm", text: "I fix it.", tools: [{ name: "Bash", input: bash }] },
    );
    const memory: Sessions = {};
    const observedRun = await run(at, memory);
    expect(observedRun.error).toBeNull();
    expect(observedRun.text).toBe("The sum is fixed.");
    expect(readFileSync(join(cwd, "sum.txt"), "utf8")).toBe("fixed\n");
    const reported = typesOf(observedRun).filter((type) => type !== "tool_message");
    const order = "llm_thinking llm_token llm_tool_use llm_tool_result llm_token llm_done";
    expect(reported).toEqual(order.split(" "));
    expect(payloadOf(observedRun, "llm_tool_use")).toMatchObject({ name: "Bash", input: bash });
    expect(payloadOf(observedRun, "llm_tool_result")).toMatchObject({ content: "fixed" });
    expect(memory.sessions?.[0]?.session).toMatch(/^[0-9a-f-]{36}$/);
    const { usage, cost } = observedRun.spent[0] ?? {};
    expect(observedRun.spent).toHaveLength(1);
    expect(cost).toBeGreaterThan(0);
    expect(usage).toEqual({
      input_tokens: at.counted.input,
      output_tokens: at.counted.output,
      thinking_tokens: at.counted.thinking,
      cache_read_tokens: at.counted.cacheRead,
      cache_write_tokens: at.counted.cacheWrite,
    });
    expect(JSON.stringify(at.came[0]?.body)).toContain("You are the coder of this thread.");
    expect(JSON.stringify(observedRun.events)).not.toContain(at.key);
  }, 180_000);

  test("continues a copy of its last session, and gets only new input", async () => {
    const at = await serve((_, nth) => ({ text: nth === 0 ? "I wrote it." : "I fixed it." }));
    const memory: Sessions = {};
    await run(at, memory);
    const first = memory.sessions?.[0]?.session;
    const steps = [
      { role: "coder", content: "I wrote it.", meta: {}, timestamp: 1 },
      { role: "tester", content: "it fails", meta: {}, timestamp: 2 },
    ] as ThreadContext["steps"];
    const before = { ...at.counted };
    const second = await run(at, memory, { steps }, undefined, 0);
    expect(second.text).toBe("I fixed it.");
    expect(memory.sessions?.[0]?.session).not.toBe(first);
    const { messages = [] } = at.came[1]?.body ?? {};
    expect(messages.map((message) => message.role)).toContain("assistant");
    const asked = JSON.stringify(messages);
    expect(asked).not.toContain('<step number=\\"1');
    expect(asked).toContain("fix the sum");
    expect(asked.match(/I wrote it\./g)).toHaveLength(1);
    expect(asked).toContain("it fails");
    expect(second.spent[0]?.usage.output_tokens).toBe(at.counted.output - before.output);
    expect(second.spent[0]?.usage.cache_read_tokens).toBe(at.counted.cacheRead - before.cacheRead);
  }, 180_000);

  test("stops at the rest of the thread's `maxCost`, and reports its spending", async () => {
    const bash = { command: "true", description: "Does nothing" };
    const at = await serve(() => ({ text: "I go on.", tools: [{ name: "Bash", input: bash }] }));
    const agent = claudeCode({ command, args: ["--allowedTools", "Bash"], graceMs: 1000 });
    const play = role({ description: "", agent, systemPrompt: "", schema: z.object({}) });
    const options = { maxCost: 0.001 };
    const thread = threadOf({ cwd, env: envOf(at), role: "coder", options });
    const error = await failureOf(play(thread));
    expect(error).toMatchObject({ code: "BUDGET_EXCEEDED" });
    expect(at.came).toHaveLength(1);
    const { kept } = error as { kept: { cost: number; usage: { output_tokens: number } } };
    expect(kept.cost).toBeGreaterThan(0.001);
    expect(kept.usage.output_tokens).toBe(at.counted.output);
  }, 180_000);

  test("reports a provider's refusal with an error code and without the key", async () => {
    const fault = { kind: "status", status: 400, type: "", message: "no such thing" } as const;
    const refused = await run(await serve(() => ({ fault })));
    expect(refused.error).toMatchObject({ code: "COMMAND_FAILED" });
    expect((refused.error as WorkflowError).message).toContain("no such thing");
    expect(payloadOf(refused, "llm_error")).toMatchObject({ code: "COMMAND_FAILED" });
  }, 180_000);

  test.each(["ends", "is killed"])(
    "counts the requests without streaming that follow a broken stream, when the command %s",
    async (how) => {
      const fault = {
        ...({ kind: "error-event", after: 6 } as const),
        ...{ type: "overloaded_error", message: "busy" },
      };
      const bash = { command: "true", description: "Does nothing" };
      const at = await serve((_, nth) => {
        if (nth === 0) return { text: "I break off here. ".repeat(10), fault };
        if (how === "ends") return { text: "It is whole." };
        return nth === 1 ? { tools: [{ name: "Bash", input: bash }] } : { fault: { kind: "hang" } };
      });
      const abort = new AbortController();
      const result: Observed = { events: [], spent: [], text: "", error: null };
      const running = run(at, {}, { signal: abort.signal }, result);
      if (how === "is killed") {
        await until(() => at.came.length >= 3);
        abort.abort(new Error("killed"));
      }
      await running;
      expect(at.came.slice(0, 2).map(({ body }) => body.stream ?? false)).toEqual([true, false]);
      const sum = (name: keyof Counted) =>
        at.came.reduce((all, { reported }) => all + reported[name], 0);
      // The ledger counts the last usage of each call.
      type Used = { call_id: string; usage: Usage; state: string };
      const used = result.events.filter(({ type }) => type === "llm_usage");
      const calls = new Map(used.map(({ payload }) => [payload.call_id, payload as Used]));
      const total = [...calls.values()].map(({ usage }) => usage).reduce(addUsage, noUsage);
      expect(total).toEqual({
        input_tokens: sum("input"),
        output_tokens: sum("output"),
        thinking_tokens: sum("thinking"),
        cache_read_tokens: sum("cacheRead"),
        cache_write_tokens: sum("cacheWrite"),
      });
      const unknown = [...calls.values()].filter(({ state }) => state !== "whole");
      expect(unknown).toHaveLength(how === "ends" ? 1 : 2);
    },
    180_000,
  );
});
