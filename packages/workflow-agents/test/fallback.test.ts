import { afterEach, describe, expect, test } from "bun:test";
import type { AgentFn } from "@uncaged/workflow";
import { z } from "zod";
import { commandAgent } from "../src/command/command.ts";
import { fieldsOf } from "../src/command/reader.ts";
import { fallback, type FallbackOptions } from "../src/role/fallback.ts";
import { role } from "../src/role/role.ts";
import { toolRegistry } from "../src/tools/registry.ts";
import { tool } from "../src/tools/tools.ts";
import { scriptedAgent } from "../src/scripted/scripted.ts";
import { models, threadAt } from "./models.ts";
import { failureOf, observed, payloadOf, threadOf } from "./published.ts";
import type { Reply } from "./wire.ts";

/* Tests the choice of the agent that takes over from a failed agent, and the errors after which it does. */
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

const refused = (status: number): Reply => ({
  fault: { kind: "status", status, type: "", message: "not now" },
});
const second = scriptedAgent(["by the second"]);

describe.each(models)("a fallback from $name", (model) => {
  async function play(replies: Reply[], options?: FallbackOptions, name?: string) {
    const server = await model.serve(replies);
    stops.push(server.stop);
    const first = model.agent({ maxRetries: 1, ...(name && { model: name }) });
    const agent = fallback([first, second], options);
    const one = role({
      description: "",
      agent,
      systemPrompt: "",
      schema: z.object({}),
      retry: { attempts: 2, backoff: "1ms" },
    });
    const id = crypto.randomUUID();
    const run = await observed(
      async () => (await one(threadAt(model, server, { role: id }))).content,
      { stepID: id },
    );
    return { ...run, asked: server.came.length };
  }

  test("does not run when the first agent answers", async () => {
    const run = await play([{ text: "by the first" }]);
    expect([run.text, run.asked]).toEqual(["by the first", 1]);
  });

  test.each([
    [529, "LLM_OVERLOADED", 2],
    [429, "LLM_RATE_LIMIT", 2],
    [402, "LLM_BILLING", 1],
  ] as const)(
    "takes over after a response with %i, when the retries are over",
    async (status, code, asked) => {
      const run = await play([refused(status)]);
      expect([run.text, run.asked]).toEqual(["by the second", asked]);
    },
  );

  test("takes over when the provider no longer has the model", async () => {
    const run = await play([{ text: "by the first" }], {}, "no-such-model");
    expect([run.text, run.asked]).toEqual(["by the second", 1]);
  });

  test("does not take over after an error that every agent would have, unless `on` allows the error", async () => {
    const run = await play([refused(400)]);
    expect(run.error).toMatchObject({ code: "LLM_BAD_REQUEST" });
    expect((await play([refused(400)], { on: ["bad_request"] })).text).toBe("by the second");
    expect((await play([refused(529)], { on: ["LLM_RATE_LIMIT"] })).error).toMatchObject({
      code: "LLM_OVERLOADED",
    });
    const on = ({ message }: Error) => message.includes("not now");
    expect((await play([refused(400)], { on })).text).toBe("by the second");
  });

  test("reports the next agent and the reason, and counts the spending of each", async () => {
    const server = await model.serve([
      { text: "half of it", fault: { kind: "half-event", after: 4 } },
    ]);
    const other = await model.serve([{ text: "whole" }]);
    stops.push(server.stop, other.stop);
    const agent: AgentFn = fallback([
      model.agent({ maxRetries: 0 }),
      model.agent({ maxRetries: 0, baseUrl: other.url, model: "claude-haiku-5-5" }),
    ]);
    const run = await observed(() => agent(threadAt(model, server), ""));
    expect(run.text).toBe("whole");
    expect(payloadOf(run, "llm_fallback")).toEqual({
      failed: 1,
      next: 2,
      code: expect.stringMatching(/^LLM_(CUT_OFF|BAD_STREAM)$/),
      error: expect.any(String),
    });
    const usages = run.events.filter(({ type }) => type === "llm_usage");
    expect(new Set(usages.map(({ payload }) => payload.call_id)).size).toBe(2);
    expect(run.spent.at(-1)?.model).toBe("claude-haiku-5-5");
  });

  test("takes over when the provider drops the model during a conversation", async () => {
    const look = tool({
      ...{ name: "look", description: "Looks", input: z.object({}) },
      execute: () => "seen",
    });
    const server = await model.serve([{ tools: [{ name: "look" }] }, refused(404)]);
    stops.push(server.stop);
    const first = model.agent({ tools: toolRegistry([look]) });
    const alone = await observed(() => first(threadAt(model, server), ""));
    expect(alone.error).toMatchObject({ code: "LLM_NO_MODEL" });
    const again = await model.serve([{ tools: [{ name: "look" }] }, refused(404)]);
    stops.push(again.stop);
    const run = await observed(() => fallback([first, second])(threadAt(model, again), ""));
    expect([run.text, again.came.length]).toEqual(["by the second", 2]);
    expect(payloadOf(run, "llm_fallback")).toMatchObject({ code: "LLM_NO_MODEL" });
    const { output = 0 } = again.came[0]?.counted ?? {};
    expect(run.spent[0]?.usage.output_tokens).toBe(output);
  });

  test("stops with the thread, without trying the next agent", async () => {
    const server = await model.serve([{ fault: { kind: "hang" } }]);
    stops.push(server.stop);
    const stop = new AbortController();
    const thread = threadAt(model, server, { signal: stop.signal });
    const ended = failureOf(fallback([model.agent(), second])(thread, ""));
    stop.abort(new Error("killed"));
    expect(await ended).toEqual(new Error("killed"));
  });
});

test("a fallback runs each agent once, and fails with the last error", async () => {
  const asked: number[] = [];
  const failing = (n: number): AgentFn => {
    const missing = commandAgent({ argv: [`no-such-command-${n}`] });
    return (ctx, system) => (asked.push(n), missing(ctx, system));
  };
  const agent = fallback([1, 2, 3].map(failing));
  const error = await failureOf(agent(threadOf(), ""));
  expect(asked).toEqual([1, 2, 3]);
  expect(error).toMatchObject({ code: "COMMAND_MISSING", message: expect.stringContaining("-3") });
});

test("a fallback continues each command's own session", async () => {
  const session = (name: string) =>
    commandAgent({
      argv: [
        "node",
        ["-e", `console.log(JSON.stringify({ s: "${name}", a: process.argv.slice(1).join() }))`],
        ["--", "{session}"],
      ],
      output: () => (line) => {
        const { s, a } = fieldsOf(line) as Record<string, string>;
        return [
          { kind: "session", id: s ?? "" },
          { kind: "result", text: `${s} after ${a || "none"}` },
        ];
      },
    });
  const env = { PATH: process.env.PATH ?? "" };
  let isThere = true;
  const first: AgentFn = (ctx, system) =>
    (isThere ? session("one") : commandAgent({ argv: ["no-such-command"] }))(ctx, system);
  const agent = fallback([first, session("two")]);
  const memory = {};
  const texts: string[] = [];
  for (const there of [true, false, false, true]) {
    isThere = there;
    const steps = texts.map((content, at) => ({ role: "coder", content, meta: {}, timestamp: at }));
    const ctx = threadOf({ env, steps });
    texts.push((await observed(() => agent(ctx, ""), { memory })).text);
  }
  expect(texts).toEqual(["one after none", "two after none", "two after two", "one after one"]);
});

test.each([
  [[], {}, "fallback needs a list of agents"],
  [[second, "claude"], {}, "fallback needs a list of agents"],
  [[second], { on: "all" }, "fallback's on must be a list of codes or a function"],
])("invalid options of a fallback are refused at definition", (agents, options, message) => {
  expect(() => fallback(agents as AgentFn[], options as FallbackOptions)).toThrow(message);
});
