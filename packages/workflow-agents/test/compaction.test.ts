import { afterEach, describe, expect, test } from "bun:test";
import type { Journal, JournalEntry } from "@uncaged/workflow/interpreter";
import type { ThreadContext } from "@uncaged/workflow";
import { z } from "zod";
import type { ModelOptions } from "../src/llm/agent.ts";
import { compactAtOf } from "../src/llm/compact.ts";
import { image } from "../src/content/part.ts";
import { toolRegistry } from "../src/tools/registry.ts";
import { tool } from "../src/tools/tools.ts";
import { type Model, models, threadAt } from "./models.ts";
import { observed, type Observed } from "./published.ts";
import type { Fault, Reply, WireServer } from "./wire.ts";
import { some } from "../../workflow/test/fixtures/cases.ts";

/* Tests the summaries of conversations that fill the model's context window. */
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()));
});

const long = { of: 2000 };
const look = tool({
  ...{ name: "look", description: "Looks", input: z.object({ n: z.number() }) },
  execute: ({ n }) => `found ${n} ${"x".repeat(long.of)}`,
});
const tools = toolRegistry([look], { maxResult: 1_000_000 });

type Body = { model: string; messages: { role: string; content: unknown }[] };
const textOf = (body: object): string => JSON.stringify((body as Body).messages);
const isSummary = (body: object): boolean => textOf(body).includes("Your context is nearly full");
const countOf = (text: string, part: string): number => text.split(part).length - 1;

/** Returns a script for a model that calls the tool `look` until the input, including summaries, has `times` looks. */
const looking =
  (times: number, asSummary: (text: string) => Reply = noted) =>
  (body: object): Reply => {
    const text = textOf(body);
    if (isSummary(body)) return asSummary(text);
    const done = seenIn(text);
    if (done >= times) return { text: `looked ${done} times` };
    return { tools: [{ name: "look", input: { n: done + 1 } }] };
  };
const seenIn = (text: string): number =>
  Math.max(0, ...[...text.matchAll(/(?:found|looked until) (\d+)/g)].map(([, n]) => Number(n)));
const noted = (text: string): Reply => ({ text: `I looked until ${seenIn(text)}.` });

/** Returns a script for a model with an undocumented window of 4,000 tokens, which refuses longer requests. */
function refusing(times: number, message: string) {
  let count = 0;
  const fault: Fault = { kind: "status", status: 400, type: "invalid_request_error", message };
  const reply = (body: object): Reply => {
    if (fits(textOf(body))) return looking(times)(body);
    if (!isSummary(body)) count += 1;
    return { fault };
  };
  return { reply, refused: () => count };
}
const fits = (text: string): boolean => text.length / 4 < 4000;
const unknown = { model: "house-model", context: {} };
const tooLongFor4000 = "prompt is too long: 4321 tokens > 4000 maximum";

type Run = { ran: Observed; bodies: Body[]; server: WireServer<{ model: string }> };

async function run(
  one: Model,
  reply: (body: object, nth: number) => Reply,
  options: Partial<ModelOptions> = {},
  more: Partial<ThreadContext> = {},
): Promise<Run> {
  const server = await one.serve(reply as never);
  stops.push(server.stop);
  const agent = one.agent({ tools, context: { window: 4000 }, maxRetries: 0, ...options });
  const ran = await observed(() => agent(threadAt(one, server, more), "You look."));
  return { ran, server, bodies: server.came.map(({ body }) => body as unknown as Body) };
}

/** Expects each tool call to be followed by its result, and each result to follow its call. */
function expectPaired({ messages }: Body): void {
  const ids = (value: unknown, pattern: RegExp) =>
    [...JSON.stringify(value ?? "").matchAll(pattern)].map(([, id]) => id);
  const result = /"(?:tool_use_id|tool_call_id)":"([^"]+)"/g;
  let open: (string | undefined)[] = [];
  for (const message of messages) {
    if (message.role === "assistant") {
      expect(open).toEqual([]);
      open = ids(message, /"id":"((?:toolu|call)_[^"]+)"/g);
    } else {
      const results = ids(message, result);
      expect(open.slice(0, results.length)).toEqual(results);
      open = open.slice(results.length);
    }
  }
  expect(open).toEqual([]);
}

const eventsOf = ({ ran }: Run, type: string) => ran.events.filter((event) => event.type === type);

describe.each(some(models))("a conversation over $name", (one) => {
  test("is summarised when the window is nearly full, and continues from the summary", async () => {
    const ended = await run(one, looking(20));
    expect([ended.ran.error, ended.ran.text]).toEqual([null, "looked 20 times"]);
    const summaries = ended.bodies.filter(isSummary);
    expect(summaries.length).toBeGreaterThan(2);
    expect(eventsOf(ended, "llm_compacted")).toHaveLength(summaries.length);
    for (const body of ended.bodies) {
      expectPaired(body);
      expect(textOf(body).length / 4).toBeLessThan(4000);
    }
    // The first request is unchanged, and the last exchange follows the summary.
    const at = ended.bodies.findIndex(isSummary) + 1;
    const { messages } = ended.bodies[at] as Body;
    const [first] = textOf(ended.bodies[0] as Body).match(/fix the sum/) ?? [];
    expect(JSON.stringify(messages)).toContain(first ?? "nothing");
    const roles = messages.map(({ role }) => role).filter((role) => role !== "system");
    expect(roles.slice(0, 3)).toEqual(["user", "user", "assistant"]);
    expect(countOf(JSON.stringify(messages), "found")).toBe(1);
    // The agent reports the spending of every call.
    const output = ended.ran.spent.reduce((sum, { usage }) => sum + usage.output_tokens, 0);
    expect(output).toBe(ended.server.counted.output);
  });

  test("is not summarised when summaries are turned off, or the window is far from full", async () => {
    for (const context of [false, { window: 100_000 }] as const) {
      const ended = await run(one, looking(10), { context });
      expect([ended.ran.text, ended.bodies.filter(isSummary)]).toEqual(["looked 10 times", []]);
    }
  });

  test("continues in full when the summary fails, and reports the failure", async () => {
    const fault: Fault = { kind: "status", status: 500, type: "api_error", message: "broken" };
    for (const reply of [{ fault }, { tools: [{ name: "look", input: { n: 9 } }] }]) {
      const ended = await run(
        one,
        looking(12, () => reply),
      );
      expect(ended.ran.text).toBe("looked 12 times");
      expect(eventsOf(ended, "llm_compacted")).toEqual([]);
      const [warning] = eventsOf(ended, "tool_message");
      expect(warning?.payload.message).toContain("could not be summarised, and continues in full");
    }
  });

  test("is summarised without its long parts when the summary request was too long", async () => {
    long.of = 60_000;
    try {
      const tooLong: Fault = {
        ...{ kind: "status", status: 400, type: "invalid_request_error" },
        message: "prompt is too long: context_length_exceeded",
      };
      const declining = (body: object): Reply => {
        const reply = looking(3)(body);
        return textOf(body).length > 40_000 ? { fault: tooLong } : reply;
      };
      const ended = await run(one, declining, { context: { window: 1_000_000 } });
      expect([ended.ran.error, ended.ran.text]).toEqual([null, "looked 3 times"]);
      const summary = ended.bodies.filter(isSummary).map(textOf)[0] ?? "";
      expect(summary).toContain("characters are left out: they did not fit");
      for (const body of ended.bodies) expectPaired(body);
      const alone = await run(one, () => ({ fault: tooLong }));
      expect(alone.ran.error).toMatchObject({ code: "LLM_CONTEXT_FULL" });
      expect(alone.bodies).toHaveLength(1);
    } finally {
      long.of = 2000;
    }
  });

  test("uses the window size that one refusal of the model reveals", async () => {
    for (const message of [
      "9000 tokens > 4000 maximum",
      "maximum context length is 4,000 tokens",
    ]) {
      const { reply, refused } = refusing(20, `prompt is too long: ${message}`);
      const ended = await run(one, reply, unknown);
      expect([ended.ran.error, ended.ran.text, refused()]).toEqual([null, "looked 20 times", 1]);
      expect(ended.bodies.filter(isSummary).length).toBeGreaterThan(3);
      for (const body of ended.bodies) expectPaired(body);
    }
    // If the error has no plausible number, the agent takes the size of the largest accepted request for the window.
    for (const message of ["", ": 10 tokens > 1 maximum", ": 10 tokens > 999999999 maximum"]) {
      const { reply, refused } = refusing(20, `prompt is too long${message}`);
      const ended = await run(one, reply, unknown);
      expect([ended.ran.error, ended.ran.text]).toEqual([null, "looked 20 times"]);
      expect(refused()).toBeLessThan(4);
      expect(ended.bodies.filter(isSummary).length).toBeLessThan(10);
    }
  });

  test.skipIf(one.name !== "anthropic")(
    "is summarised when an answer fills the window",
    async () => {
      let isFull = true;
      const reply = (body: object): Reply => {
        if (!isFull || seenIn(textOf(body)) < 2) return looking(3)(body);
        isFull = false;
        return { text: "I begin to", stop: "model_context_window_exceeded" };
      };
      const ended = await run(one, reply, unknown);
      expect([ended.ran.error, ended.ran.text]).toEqual([null, "looked 3 times"]);
      expect(ended.bodies.filter(isSummary).length).toBeGreaterThan(0);
      const output = ended.ran.spent.reduce((sum, { usage }) => sum + usage.output_tokens, 0);
      expect(output).toBe(ended.server.counted.output);
    },
  );

  test("is not summarised because of a large picture", async () => {
    const png = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), Buffer.alloc(3e6, 7)]);
    const shoot = tool({
      ...{ name: "look", description: "Looks", input: z.object({ n: z.number() }) },
      execute: () => ["found 1", image(png)],
    });
    const ended = await run(one, looking(1), { tools: toolRegistry([shoot]), context: {} });
    expect([ended.ran.error, ended.ran.text]).toEqual([null, "looked 1 times"]);
    expect(ended.bodies).toHaveLength(2);
    expect(textOf(ended.bodies[1] as Body)).toContain(png.toString("base64"));
  });

  test.each([
    ["with a known window", () => looking(8), {}],
    ["with a window that a refusal reveals", () => refusing(8, tooLongFor4000).reply, unknown],
  ])(
    "%s repeats no recorded request or summary after a kill at any request",
    async (_, replies, options) => {
      const looked = () => replies();
      const whole = await run(one, looked(), options, { ...journaled([]) });
      // Ignores refused requests, which cost nothing and are repeated.
      const answered = (bodies: Body[]) =>
        bodies
          .map(textOf)
          .filter((text) => options !== unknown || fits(text))
          .map(withoutIds);
      expect(whole.bodies.filter(isSummary).length).toBeGreaterThan(0);
      for (const nth of whole.bodies.keys()) {
        const entries: JournalEntry[] = [];
        const stop = new AbortController();
        const dying = (body: object, at: number): Reply => {
          if (at !== nth) return looked()(body);
          stop.abort(new Error("died"));
          return { fault: { kind: "hang" } };
        };
        const died = await run(one, dying, options, { ...journaled(entries), signal: stop.signal });
        expect(died.ran.error).toEqual(new Error("died"));
        const again = await run(one, looked(), options, { ...journaled(entries) });
        expect([nth, again.ran.text]).toEqual([nth, "looked 8 times"]);
        const seen = [...died.bodies.slice(0, nth), ...again.bodies];
        expect([nth, answered(seen)]).toEqual([nth, answered(whole.bodies)]);
      }
    },
  );
});

/** The ids of calls contain the request number, which restarts with a second server. */
const withoutIds = (text: string): string => text.replace(/"(toolu|call)_\d+_\d+(_\d+)?"/g, '"$1"');

/** Returns a journal in memory: each execution reads the entries of earlier executions. */
function journaled(entries: JournalEntry[]): Pick<ThreadContext, "journal" | "key" | "attempts"> {
  const read = entries.slice();
  const journal: Journal = {
    read: async () => read,
    async record(_, entry) {
      entries.push({ entry: JSON.parse(JSON.stringify(entry)) as unknown, failed: false });
      return true;
    },
  };
  const open = () => {
    throw new Error("unexpected concurrent attempt");
  };
  return { journal, key: "step", attempts: { open, outermost: crypto.randomUUID() } };
}

describe("the threshold for a summary", () => {
  test.each([
    ["claude-opus-5-5", undefined, 160_000],
    ["gpt-5.2", undefined, 217_600],
    ["house-model", undefined, null],
    ["house-model", { window: 32_000 }, 25_600],
    ["claude-opus-5-5", { compactAt: 0.5 }, 100_000],
  ] as const)("of model %s with the context %j is %p tokens", (model, context, tokens) => {
    expect(compactAtOf(model, context)).toBe(tokens);
  });

  test.each([{ window: 0 }, { window: 1.5 }, { compactAt: 0 }, { compactAt: 2 }])(
    "is refused for the invalid context %j",
    (context) => {
      expect(() => compactAtOf("m", context)).toThrow(
        /an agent's context: (window|compactAt) can't be/,
      );
    },
  );
});
