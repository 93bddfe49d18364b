import { describe, expect, test } from "bun:test";
import { agent, drawn, published, start, texts } from "./drawn.ts";
import { promptOf } from "../src/node/node.ts";
import type { GraphAgents } from "../src/entry/index.ts";

const asked = (userPrompt: string, input: unknown, latestText = "") =>
  promptOf({ userPrompt, input, reviews: [], latestText });

describe("an agent's prompt", () => {
  test.each([
    ["x{{PREVIOUS_OUTPUT}}y{{PREVIOUS_OUTPUT}}", "z", "xzyz"],
    ["", "z", "z"],
    [" \n", "z", "z"],
    [
      "{{PREVIOUS_OUTPUT}}",
      "{{PREVIOUS_OUTPUT}} $& {{APPROVAL_NOTE}}",
      "{{PREVIOUS_OUTPUT}} $& {{APPROVAL_NOTE}}",
    ],
    ["{{PREVIOUS_OUTPUT}}", { a: [1] }, '{"a":[1]}'],
    ["{{PREVIOUS_OUTPUT}}", null, ""],
    ["{{APPROVAL_NOTE}}{{APPROVAL_DECISION}}.", "z", "."],
  ])("%j with the input %j", (userPrompt, input, prompt) => {
    expect(asked(userPrompt, input)).toBe(prompt);
  });

  test("contains the latest text if its input is an answer", () => {
    expect(asked("{{PREVIOUS_OUTPUT}}", { decision: "approve" }, "text")).toBe("text");
    expect(asked("", { note: "n" }, "text")).toBe("text");
  });
});

describe("a node", () => {
  test("that does not exist is reported and does not run, and a node of unknown type has no output", async () => {
    const nodes = [start("s"), { id: "odd", type: "Start" }, agent("a", { userPrompt: "ask" })];
    const { log, result } = await published(() => drawn(nodes, "s -> odd, gone; odd -> a"));
    expect(texts(result)).toEqual(["s: in", "odd: ", "a: a(ask)"]);
    expect(log.slice(0, 4)).toEqual([
      "s step_start: start node",
      's warn: Connection target "gone" not found',
      "odd step_start: Start node",
      'odd warn: Unknown node type "Start" skipped',
    ]);
  });

  test("of type start is required to run a graph", async () => {
    const { log, result } = await published(() => drawn([agent("a")], "a -> a"));
    const message = "No start node found in workflow graph";
    expect(result).toMatchObject({ status: "failed", message, steps: [] });
    expect(log).toEqual([`system error: ${message}`]);
  });

  test("may be one of 2,000, in a chain and in parallel", async () => {
    const many = Array.from({ length: 2_000 }, (_, at) => agent(`n${at}`));
    const nodes = [start("s"), ...many];
    const agents: GraphAgents = async ({ nodeId }) => ({ output: nodeId });
    const options = { agents, maxRounds: 20_000 };
    const chain = many.map((_, at) => `${at === 0 ? "s" : `n${at - 1}`} -> n${at}`).join(";");
    const wide = `s -> ${many.map(({ id }) => id).join(", ")}`;
    for (const connections of [chain, wide]) {
      const outcome = await drawn(nodes, connections, options);
      expect([outcome.status, outcome.steps.length]).toEqual(["completed", 2_001]);
    }
  });
});

describe("an agent", () => {
  const nodes = [
    start("s"),
    agent("a", { agentName: "Writer" }),
    agent("b"),
    agent("c"),
    agent("d"),
  ];

  test("logs its start, its prompt and its answer, and records its spending", async () => {
    const usage = {
      input_tokens: 3,
      output_tokens: 4,
      thinking_tokens: 0,
      cache_read_tokens: 0,
      cache_write_tokens: 0,
    };
    const agents: GraphAgents = async () => ({ output: "hi", model: "m", usage, cost: 0.1 });
    const { result, log } = await published(() => drawn(nodes, "s -> a", { agents }));
    expect(log).toEqual([
      "s step_start: start node",
      "a step_start: Writer agent node",
      "a start_prompt: in",
      "a llm_response: hi",
    ]);
    expect(result.steps[1]?.meta).toEqual({
      ...{ nodeType: "agent", name: "Writer", run: 1, output: "hi", follows: [] },
      arrivals: [{ from: "s", handle: null, run: 1 }],
      ...{ model: "m", usage, cost: 0.1 },
    });
  });

  test("that throws fails the run once, running nodes are committed, and no further node starts", async () => {
    const asks: string[] = [];
    let isBroken = true;
    const agents: GraphAgents = async ({ nodeId }) => {
      asks.push(nodeId);
      if (nodeId === "b") await Bun.sleep(2);
      if (nodeId === "a" && isBroken) throw new Error("no luck");
      return { output: nodeId };
    };
    const links = "s -> a, b; a -> c; b -> d";
    const { result, log } = await published(() => drawn(nodes, links, { agents }));
    expect(result).toMatchObject({ status: "failed", message: "no luck" });
    expect(texts(result)).toEqual(["s: in", "b: b"]);
    expect(log.filter((line) => / (llm_error|error): /.test(line))).toEqual([
      "a llm_error: no luck",
    ]);
    isBroken = false;
    asks.length = 0;
    const retried = await drawn(nodes, links, { agents, steps: result.steps });
    expect(retried.status).toBe("completed");
    expect(asks.sort()).toEqual(["a", "c", "d"]);
  });

  test.each([
    [null, null],
    [undefined, null],
    ["  ", null],
    [Number.NaN, null],
    [{ a: 1 }, '{"a":1}'],
    [7, "7"],
    ["x".repeat(5_000_000), "x".repeat(5_000_000)],
  ])("that answers with a value other than a text: case %#", async (output, content) => {
    const outcome = await drawn(nodes, "s -> a", { agents: async () => ({ output }) });
    if (content === null) {
      expect(outcome).toMatchObject({
        status: "failed",
        message: "Model returned no text output.",
      });
    } else expect(outcome.steps[1]?.content === content).toBe(true);
  });

  test.each([
    [null, "Model returned no text output."],
    [undefined, "Model returned no text output."],
    [{}, "Model returned no text output."],
    ["a text", null],
    [{ output: "a text", run: 9, follows: ["x"], nodeType: "y" }, null],
  ])("that returns %j instead of an answer: %j", async (answer, message) => {
    const agents = (async () => answer) as unknown as GraphAgents;
    const outcome = await drawn(nodes, "s -> a", { agents });
    if (message !== null) expect(outcome).toMatchObject({ status: "failed", message });
    else {
      expect(texts(outcome)[1]).toBe("a: a text");
      expect(outcome.steps[1]?.meta).toMatchObject({ nodeType: "agent", run: 1, follows: [] });
    }
  });

  test("that throws a text fails with that text", async () => {
    const agents: GraphAgents = () => Promise.reject("just a text");
    const { result, log } = await published(() => drawn(nodes, "s -> a", { agents }));
    expect(result.status).toBe("failed");
    expect(log).toContain("a llm_error: just a text");
  });

  test("that never answers does not block a kill of the thread", async () => {
    const kill = new AbortController();
    const agents: GraphAgents = (_, { thread }) =>
      new Promise((_resolve, reject) => {
        thread.signal?.addEventListener("abort", () => reject(new Error("aborted")));
        kill.abort();
      });
    const outcome = await drawn(nodes, "s -> a; a -> b", { agents, signal: kill.signal });
    expect(outcome.status).toBe("killed");
    expect(texts(outcome)).toEqual(["s: in"]);
  });

  test("runs with at most eight agents at once, or the thread's limit", async () => {
    const most = async (maxConcurrency?: number) => {
      let [now, peak] = [0, 0];
      const agents: GraphAgents = async ({ nodeId }) => {
        now += 1;
        peak = Math.max(peak, now);
        await Bun.sleep(1);
        now -= 1;
        return { output: nodeId };
      };
      const many = Array.from({ length: 20 }, (_, at) => agent(`n${at}`));
      const links = `s -> ${many.map(({ id }) => id).join(", ")}`;
      const outcome = await drawn([start("s"), ...many], links, {
        agents,
        options: { maxConcurrency },
      });
      expect(outcome.steps).toHaveLength(21);
      return peak;
    };
    expect([await most(), await most(3)]).toEqual([8, 3]);
  });
});
