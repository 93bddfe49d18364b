import { afterEach, describe, expect, test } from "bun:test";
import { createRoleModerator, END, type ThreadContext } from "@uncaged/workflow";
import { runThread } from "@uncaged/workflow/testing";
import { z } from "zod";
import { anthropicAgent, type AnthropicOptions } from "../src/anthropic/anthropic.ts";
import type { Message } from "../src/llm/provider.ts";
import { role } from "../src/role/role.ts";
import { toolRegistry } from "../src/tools/registry.ts";
import { tool } from "../src/tools/tools.ts";
import { anthropicServer, blocksOf } from "./anthropic-server.ts";
import type { Reply } from "./wire.ts";

/* Tests that later turns and steps of a role read the conversation from the provider's cache. */
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()));
});

const look = tool({
  ...{ name: "look", description: "Looks", input: z.object({ n: z.number() }) },
  execute: ({ n }) => `seen ${n} ${"x".repeat(200)}`,
});
const looks = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ name: "look", input: { n } }));

type Played = { rounds?: number; between?: number; prompt?: string };

/** Runs a role with a scripted model for some rounds, with plain steps between the role's steps. */
async function play(
  replies: Reply[],
  options: Partial<AnthropicOptions> = {},
  { rounds = 1, between = 0, prompt = "look" }: Played = {},
) {
  const server = await anthropicServer(replies);
  stops.push(server.stop);
  const agent = anthropicAgent({
    ...{ model: "claude-opus-5-5", apiKey: server.key, baseUrl: server.url, maxTurns: 1000 },
    tools: toolRegistry([look]),
    ...options,
  });
  const schema = z.object({});
  const lead = role({ description: "Leads", systemPrompt: "You lead. ".repeat(40), schema, agent });
  const worker = async ({ steps }: ThreadContext) => ({ content: `did ${steps.length}`, meta: {} });
  const run = createRoleModerator<Record<string, Record<string, unknown>>>({
    roles: { lead, worker },
    moderator: ({ steps }) => {
      if (steps.length >= rounds + (rounds - 1) * between) return END;
      return steps.length % (between + 1) === 0 ? "lead" : "worker";
    },
  });
  const outcome = await runThread(run, { prompt });
  if (outcome.status !== "completed") throw new Error(JSON.stringify(outcome));
  const { came } = server;
  const bodies = came.map(({ body }) => body);
  const marks = bodies.map((body) => [...blocksOf(body)].flatMap((one) => one.cache_control ?? []));
  expect(Math.max(...marks.map(({ length }) => length))).toBeLessThanOrEqual(4);
  return { steps: outcome.steps, bodies, marks, counts: came.map(({ counted }) => counted) };
}

describe("the cache of a conversation", () => {
  test("has the previous turn's prefix for each turn, however many calls the previous turn made", async () => {
    const turns = [looks(1), looks(30), looks(45), looks(2)];
    const { counts } = await play([...turns.map((tools) => ({ tools })), { text: "done" }]);
    expect(counts).toHaveLength(5);
    for (const [at, { cacheRead }] of counts.entries()) {
      const before = counts[at - 1];
      expect([at, cacheRead]).toEqual([at, before ? before.cacheRead + before.cacheWrite : 0]);
    }
  });

  test("has the prefix of a role's last step for its next step, however many steps are between them", async () => {
    const { counts } = await play([{ text: "done" }], {}, { rounds: 4, between: 30 });
    for (const [at, { cacheRead }] of counts.entries()) {
      const before = counts[at - 1];
      expect([at, cacheRead]).toEqual([at, before ? before.cacheRead + before.cacheWrite : 0]);
    }
  });

  test("makes each of 200 turns pay only for its new part", async () => {
    const turns = Array.from({ length: 200 }, () => ({ tools: looks(1) }));
    const { counts } = await play([...turns, { text: "done" }]);
    expect(counts).toHaveLength(201);
    expect(Math.max(...counts.map(({ input }) => input))).toBe(0);
    const writes = counts.slice(2).map(({ cacheWrite }) => cacheWrite);
    expect(Math.max(...writes) - Math.min(...writes)).toBeLessThan(8);
  });

  test("lasts one hour on request, at the price of one-hour writes", async () => {
    const short = await play([{ tools: looks(1) }, { text: "done" }], { cache: "5m" });
    const long = await play([{ tools: looks(1) }, { text: "done" }], { cache: "1h" });
    expect(new Set(short.marks.flat().map((mark) => JSON.stringify(mark)))).toEqual(
      new Set(['{"type":"ephemeral"}']),
    );
    expect(new Set(long.marks.flat().map((mark) => JSON.stringify(mark)))).toEqual(
      new Set(['{"type":"ephemeral","ttl":"1h"}']),
    );
    const [cheap, dear] = [short, long].map(({ steps }) => steps[0]?.meta.cost as number);
    const written = long.counts.reduce((sum, { cacheWrite }) => sum + cacheWrite, 0);
    // $4 per million input tokens: $5 to write for 5 minutes, $8 for an hour.
    expect((dear ?? 0) - (cheap ?? 0)).toBeCloseTo((written * 3) / 1e6, 8);
  });

  test("can be turned off, and other lifetimes are refused", async () => {
    const { marks } = await play([{ text: "done" }], { cache: false });
    expect(marks.flat()).toEqual([]);
    expect(() => anthropicAgent({ model: "m", cache: "2h" as "1h" })).toThrow(
      /cache can't be "2h"/,
    );
  });
});

describe("the history of an agent", () => {
  const textsOf = (message: unknown): string[] => {
    const { content } = message as Message;
    return typeof content === "string" ? [content] : content.map(({ text }) => String(text));
  };
  const shown = async (options: Partial<AnthropicOptions>) => {
    const { bodies } = await play([{ text: "done" }], options, { rounds: 2, between: 2 });
    return bodies.at(-1)?.messages.map((message) => [message.role, ...textsOf(message)]);
  };
  const block = (n: number, name: string, text: string) =>
    `<step number="${n}" role="${name}">\n${text}\n</step>`;
  const last = block(3, "worker", "did 2");

  test("has all of the thread's steps", async () => {
    const all = [block(1, "lead", "done"), block(2, "worker", "did 1"), last];
    expect(await shown({})).toEqual([["user", "look", ...all]]);
    expect(await shown({ history: "all" })).toEqual([["user", "look", ...all]]);
  });

  test("has only the last step", async () => {
    expect(await shown({ history: "last" })).toEqual([["user", "look", last]]);
  });

  test("is the result of a function of the steps", async () => {
    const history = (steps: ThreadContext["steps"]): Message[] =>
      steps.map(({ role: name, content }) => ({
        role: name === "lead" ? "assistant" : "user",
        content,
      }));
    expect(await shown({ history })).toEqual([
      ["user", "look"],
      ["assistant", "done"],
      ["user", "did 1"],
      ["user", "did 2"],
    ]);
  });

  test("is refused at definition when it is invalid", () => {
    const history = "some" as "all";
    expect(() => anthropicAgent({ model: "m", history })).toThrow(/history can't be "some"/);
    const both = { history: "last", messages: () => [] } as const;
    expect(() => anthropicAgent({ model: "m", ...both })).toThrow(/both history and messages/);
  });
});
