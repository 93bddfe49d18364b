import { describe, expect, test } from "bun:test";
import { type AgentFn, createRoleModerator, END, type WorkflowError } from "@uncaged/workflow";
import { noUsage } from "@uncaged/workflow/interpreter";
import { runThread, type RunThreadOptions } from "@uncaged/workflow/testing";
import { z } from "zod";
import {
  type AgentRole,
  asTool,
  currentRun,
  type Message,
  type ModelScript,
  role,
  scriptedProvider,
  type Tool,
  tool,
  toolRegistry,
  type ToolRegistry,
} from "../src/entry/index.ts";
import { modelAgent } from "../src/llm/agent.ts";

const schema = z.object({});
type Any = AgentRole<typeof schema>;

/** Returns a role with scripted answers. The provider selects a role's script by the system prompt. */
const member = (name: string, script: ModelScript, tools: (Tool | ToolRegistry)[] = []): Any => {
  const sources = tools.map((one) =>
    "execute" in one ? one : { tools: (context: never) => one.all(context) },
  );
  const model = "claude-sonnet-5-5";
  const agent = modelAgent(scriptedProvider(script), {
    ...{ model, maxTokens: 1000, tools: toolRegistry(sources) },
  });
  return role({ description: `Is ${name}`, systemPrompt: `I am ${name}`, schema, agent });
};

async function play(lead: Any, more: RunThreadOptions = {}) {
  const run = createRoleModerator({
    roles: { lead },
    moderator: ({ steps }) => (steps.length === 0 ? "lead" : END),
  });
  const outcome = await runThread(run, { prompt: "go", ...more });
  const error =
    outcome.status === "failed" && "error" in outcome ? (outcome.error as WorkflowError) : null;
  return { status: outcome.status, meta: outcome.steps[0]?.meta, error, steps: outcome.steps };
}

const ask = (name: string, message: string) => ({ tool: name, input: { message } });

/** Returns the tool results in the last message of a request. */
const shown = (messages: readonly Message[]): string[] =>
  ((messages.at(-1)?.content ?? []) as { content?: string; is_error?: boolean }[]).map(
    ({ content, is_error }) => `${is_error ? "error: " : ""}${content ?? ""}`,
  );

/** Returns a script for a lead that calls tools in its first turn, and the array that receives the tool results. */
function leading(calls: readonly { tool: string; input: object }[]) {
  const seen: string[] = [];
  const script: ModelScript = {
    "I am lead": [
      calls,
      ({ messages }) => {
        seen.push(...shown(messages));
        return "done";
      },
    ],
  };
  return { seen, script };
}

describe("a role as a tool", () => {
  test("gets only the message, returns the text of its answer, and adds its spending to the caller's step", async () => {
    const contexts: unknown[] = [];
    const agent: AgentFn = async ({ start, steps, role: name }, prompt) => {
      contexts.push([name, start.content, steps, prompt]);
      return "the answer";
    };
    const expert = role({ description: "Knows", systemPrompt: "I know", schema, agent });
    const { seen, script } = leading([ask("expert", "why?")]);
    const { meta } = await play(member("lead", script, [asTool(expert, { name: "expert" })]));
    expect(contexts).toEqual([["expert", "why?", [], "I know"]]);
    expect(seen).toEqual(["the answer"]);
    expect(meta).toMatchObject({ model: "claude-sonnet-5-5" });
  });

  test("has the role's description unless the options give another", async () => {
    const one = member("one", {});
    expect(asTool(one, { name: "one" }).description).toBe("Is one");
    expect(asTool(one, { name: "one", description: "Asks one" }).description).toBe("Asks one");
  });

  test("runs in parallel with the other calls of the turn", async () => {
    let [running, atOnce] = [0, 0];
    const agent: AgentFn = async () => {
      atOnce = Math.max(atOnce, (running += 1));
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return "read";
    };
    const reader = role({ description: "Reads", systemPrompt: "", schema, agent });
    const { seen, script } = leading([ask("reader", "a"), ask("reader", "b")]);
    await play(member("lead", script, [asTool(reader, { name: "reader" })]));
    expect([seen, atOnce]).toEqual([["read", "read"], 2]);
  });

  test("reports its failure to the model as an error, and its spending counts toward the caller's step", async () => {
    const worker = member("worker", { "I am worker": ["no fields"] });
    const fields = z.object({ done: z.boolean() });
    const strict = role({
      ...{ description: "Works", systemPrompt: "I am worker", schema: fields, repairs: 0 },
      agent: modelAgent(scriptedProvider({ "I am worker": ["x".repeat(400)] }), { model: "m" }),
    });
    const { seen, script } = leading([ask("strict", "work"), ask("worker", "work")]);
    const tools = [asTool(strict, { name: "strict" }), asTool(worker, { name: "worker" })];
    const { status, meta } = await play(member("lead", script, tools));
    expect(status).toBe("completed");
    expect(seen[0]).toStartWith("error: the agent's answer does not fit the role's schema");
    expect(seen[1]).toBe("no fields");
    const models = meta?.models as Record<string, { usage: { output_tokens: number } }>;
    expect(models.m?.usage.output_tokens).toBe(100);
  });

  test("stops when its thread is killed", async () => {
    const kill = new AbortController();
    let reason: unknown;
    const agent: AgentFn = async ({ signal }) => {
      const aborted = new Promise<never>((_, reject) =>
        signal?.addEventListener("abort", () => reject((reason = signal.reason) as Error)),
      );
      kill.abort(new Error("killed"));
      return await aborted;
    };
    const waiting = role({ description: "Waits", systemPrompt: "", schema, agent });
    const { script } = leading([ask("waiting", "wait")]);
    const lead = member("lead", script, [asTool(waiting, { name: "waiting" })]);
    expect((await play(lead, { signal: kill.signal })).status).toBe("killed");
    expect(reason).toEqual(new Error("killed"));
  });

  test("stops at its timeout, and its caller continues", async () => {
    let isEnded = false;
    const agent: AgentFn = ({ signal }) =>
      new Promise((_, reject) =>
        signal?.addEventListener("abort", () => {
          isEnded = true;
          reject(signal.reason as Error);
        }),
      );
    const slow = role({ description: "Waits", systemPrompt: "", schema, agent });
    const { seen, script } = leading([ask("slow", "wait")]);
    const tools = [asTool(slow, { name: "slow", timeoutMs: 5 })];
    expect((await play(member("lead", script, tools))).status).toBe("completed");
    expect(seen[0]).toStartWith("error: the tool slow was stopped after 5 ms");
    expect(isEnded).toBe(true);
  });

  test("makes the thread wait for the approval of its own tool calls", async () => {
    const paid: number[] = [];
    const pay = tool({
      ...{ name: "pay", description: "Pays", input: z.object({ n: z.number() }), approve: true },
      execute: ({ n }) => `paid ${paid.push(n)}`,
    });
    const clerk = member("clerk", { "I am clerk": [[{ tool: "pay", input: { n: 3 } }], "done"] }, [
      pay,
    ]);
    const { seen, script } = leading([ask("clerk", "pay it")]);
    const lead = member("lead", script, [asTool(clerk, { name: "clerk" })]);
    const waiting = await play(lead);
    expect([waiting.status, paid]).toEqual(["waiting", []]);
    expect(waiting.steps[0]?.meta).toMatchObject({ tool: "pay", input: { n: 3 }, stepID: "clerk" });
    const { status } = await play(lead, { answers: ['{"approve":true}'] });
    expect([status, paid, seen]).toEqual(["completed", [3], ["done"]]);
  });

  test("reports a call without a message to the model as invalid", async () => {
    const { seen, script } = leading([{ tool: "one", input: {} }]);
    await play(member("lead", script, [asTool(member("one", {}), { name: "one" })]));
    expect(seen[0]).toStartWith("error: invalid arguments of one: message: ");
  });

  test("fails when it is called outside a thread", async () => {
    const tools = toolRegistry([asTool(member("one", {}), { name: "one" })]);
    const context = { signal: new AbortController().signal, cwd: "/", env: {} };
    expect((await tools.run("one", { message: "hi" }, context)).content).toStartWith(
      "the role one can only be called by an agent in a thread",
    );
  });
});

describe("roles that call each other", () => {
  test("cannot call themselves, directly or through others", async () => {
    const answers: string[] = [];
    const script: ModelScript = {
      "I am lead": [
        [ask("worker", "w"), ask("lead", "me")],
        ({ messages }) => {
          answers.push(...shown(messages));
          return "done";
        },
      ],
      "I am worker": [
        [ask("lead", "you")],
        ({ messages }) => {
          answers.push(...shown(messages));
          return "worked";
        },
      ],
    };
    // The agents list their tools when they run, so each role can get a tool for any role.
    const later: ToolRegistry[] = [];
    const late = {
      ...toolRegistry([]),
      all: async (context: never) => (await later[0]?.all(context)) ?? [],
    };
    const lead: Any = member("lead", script, [late]);
    const worker = member("worker", script, [late]);
    later.push(toolRegistry([asTool(lead, { name: "lead" }), asTool(worker, { name: "worker" })]));
    expect((await play(lead)).status).toBe("completed");
    expect(answers.map((text) => text.split("\n")[0])).toEqual([
      "error: the role lead is already running and can't call itself: lead → worker → lead",
      "worked",
      "error: the role lead is already running and can't call itself: lead → lead",
    ]);
  });

  test("nest at most as deep as the outermost call's `maxDepth` allows", async () => {
    const answers: string[] = [];
    const script = (to: string | null) =>
      to === null
        ? ["bottom"]
        : [
            [ask(to, "go")],
            ({ messages }: { messages: readonly Message[] }) => {
              answers.push(...shown(messages));
              return "up";
            },
          ];
    const tower = (maxDepth?: number) => {
      const d = member("d", { "I am d": script(null) });
      const c = member("c", { "I am c": script("d") }, [asTool(d, { name: "d", maxDepth: 9 })]);
      const b = member("b", { "I am b": script("c") }, [asTool(c, { name: "c", maxDepth: 9 })]);
      return member("lead", { "I am lead": script("b") }, [asTool(b, { name: "b", maxDepth })]);
    };
    await play(tower());
    expect(answers.splice(0)).toEqual(["bottom", "up", "up"]);
    await play(tower(2));
    expect(answers.map((text) => text.split("\n")[0])).toEqual([
      "error: the role d can't be called: too many levels of roles: lead → b → c → d",
      "up",
      "up",
    ]);
  });

  test.each([0, 1.5, Number.NaN])("a `maxDepth` of %d is refused at definition", (maxDepth) => {
    expect(() => asTool(member("one", {}), { name: "one", maxDepth })).toThrow(/levels deep/);
  });
});

describe("the budget of a call", () => {
  const spender = (tools: (Tool | ToolRegistry)[] = []) =>
    member("spender", { "I am spender": ["x".repeat(400)] }, tools);

  test("stops the called role before it exceeds the budget, and its caller continues", async () => {
    const { seen, script } = leading([ask("spender", "spend")]);
    const budget = { maxTokens: 50 };
    const lead = member("lead", script, [asTool(spender(), { name: "spender", budget })]);
    const { status, meta } = await play(lead);
    expect(status).toBe("completed");
    expect(seen[0]).toStartWith("error: maxTokens 50 of the budget of spender would be exceeded: ");
    expect(seen[0]).toContain("ask spender for less at once");
    expect(meta).toMatchObject({ usage: { output_tokens: 1 } });
  });

  test("limits nested calls too, and each agent reads the remaining budget", async () => {
    const left: unknown[] = [];
    const agent: AgentFn = async () => {
      const { remaining, spent } = currentRun();
      left.push(remaining?.());
      const usage = { ...noUsage, output_tokens: 10_000 };
      spent.push({ model: "claude-sonnet-5-5", usage, cost: 0.1 });
      return "done";
    };
    const worker = role({ description: "Works", systemPrompt: "", schema, agent });
    const again = [[ask("worker", "go")], [ask("worker", "go on")], "done"];
    const play2 = async (inner: number, outer: number, options = {}) => {
      const tools = [asTool(worker, { name: "worker", budget: { maxCost: inner } })];
      const middle = member("middle", { "I am middle": again }, tools);
      const { script } = leading([ask("middle", "go")]);
      const budget = { maxCost: outer };
      await play(member("lead", script, [asTool(middle, { name: "middle", budget })]), { options });
      return left.splice(0);
    };
    expect(await play2(0.5, 0.25)).toEqual([expect.closeTo(0.25, 2), expect.closeTo(0.15, 2)]);
    expect(await play2(0.2, 0.25)).toEqual([0.2, expect.closeTo(0.15, 2)]);
    expect(await play2(0.5, 0.5, { maxCost: 0.3 })).toEqual([
      expect.closeTo(0.3, 2),
      expect.closeTo(0.2, 2),
    ]);
  });

  test("applies to each call separately, and the spending counts toward the thread's limit", async () => {
    const { seen, script } = leading([ask("spender", "a"), ask("spender", "b")]);
    const budget = { maxTokens: 4_000 };
    const lead = member("lead", script, [asTool(spender(), { name: "spender", budget })]);
    expect((await play(lead)).meta).toMatchObject({ usage: { output_tokens: 201 } });
    expect(seen).toEqual(["x".repeat(400), "x".repeat(400)]);
    const { error } = await play(lead, { options: { maxTokens: 200 } });
    expect(error?.message).toStartWith("maxTokens 200 would be exceeded");
  });

  test("is refused at definition when it is invalid", () => {
    const budget = { maxCost: -1 };
    expect(() => asTool(spender(), { name: "spender", budget })).toThrow(/maxCost is -1/);
  });
});

test("the tools of a called role get its name as the role of the thread", async () => {
  const roles: string[] = [];
  const who = tool({
    ...{ name: "who", description: "Says who", input: z.object({}) },
    execute: (_, { thread }) => roles.push(thread?.role ?? "nobody"),
  });
  const inner = member("inner", { "I am inner": [[{ tool: "who", input: {} }], "done"] }, [who]);
  const { script } = leading([ask("inner", "go"), { tool: "who", input: {} }]);
  await play(member("lead", script, [asTool(inner, { name: "inner" }), who]));
  expect(roles.toSorted()).toEqual(["inner", "lead"]);
});
