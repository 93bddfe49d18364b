import { describe, expect, test } from "bun:test";
import type { Attempts, AttemptSpec, Journal } from "@uncaged/workflow/interpreter";
import { type ModelScript, scriptedProvider } from "@uncaged/workflow-agents";
import { modelAgents } from "../src/entry/agents.ts";
import type { AgentRequest, GraphAgents } from "../src/entry/index.ts";
import { agent, condition, drawn, lines, published, start, texts } from "./drawn.ts";
import { checkGraph } from "../src/entry/document.ts";

const lead = { tools: { subagents: true } };
const scripted = (script: ModelScript): GraphAgents =>
  modelAgents({
    models: [{ name: "script", provider: scriptedProvider(script), serves: () => true }],
  });

const nodes = [
  start("s"),
  agent("root", { ...lead, agentName: "Lead", systemPrompt: "You lead" }),
  agent("mid", {
    ...lead,
    agentName: "Far Researcher",
    systemPrompt: "You research",
    userPrompt: "unused",
  }),
  agent("leaf", {
    agentName: "Reader",
    systemPrompt: "You read",
    model: "m",
    reasoningEffort: "high",
  }),
];
const links = "s -> root; root -subagent-> mid; mid -subagent-> leaf";

describe("a tree of subagents", () => {
  test("is passed to the agent runner, nested, without the prompts of the subagents", async () => {
    const requests: AgentRequest[] = [];
    const agents: GraphAgents = async (request) => {
      requests.push(request);
      return { output: "done" };
    };
    expect(texts(await drawn(nodes, links, { agents }))).toEqual(["s: in", "root: done"]);
    const usual = { model: "gpt-5", reasoningEffort: "low", tools: [] };
    expect(requests).toEqual([
      {
        ...{ nodeId: "root", agentName: "Lead", systemPrompt: "You lead", prompt: "in", ...usual },
        subagents: [
          {
            ...{
              nodeId: "mid",
              agentName: "Far Researcher",
              systemPrompt: "You research",
              ...usual,
            },
            subagents: [
              {
                ...{ nodeId: "leaf", agentName: "Reader", systemPrompt: "You read", tools: [] },
                ...{ model: "m", reasoningEffort: "high" },
              },
            ],
          },
        ],
      },
    ]);
  });

  test("is called as tools, each call is an attempt within the caller's attempt, and the node has all spending", async () => {
    const agents = scripted({
      "You lead": [
        [
          { tool: "subagent_far_researcher_mid", input: { message: "look" } },
          { tool: "subagent_far_researcher_mid", input: { message: "again" } },
        ],
        ({ messages }) => `lead: ${JSON.stringify(messages.at(-1)?.content)}`,
      ],
      "You research": [[{ tool: "subagent_reader_leaf", input: { message: "read" } }], "found"],
      "You read": ["page"],
    });
    const opened: { spec: AttemptSpec; outcome: string }[] = [];
    const attempts: Attempts = {
      open(spec) {
        const one = { spec, outcome: "open" };
        opened.push(one);
        const end = (outcome: string) => (one.outcome = outcome);
        return { id: String(opened.length), path: spec.path ?? [], run: (fn) => fn(), end };
      },
    };
    const { result, log } = await published(() =>
      drawn(nodes, links, { agents, options: { attempts } }),
    );
    expect(result.status).toBe("completed");
    expect(result.steps.at(-1)?.content).toContain("found");
    const roles = opened.map(({ outcome, spec }) => `${spec.role} ${outcome}`);
    expect(roles.sort()).toEqual([
      ...["leaf committed", "leaf committed", "mid committed", "mid committed"],
      ...["root open", "s open"],
    ]);
    expect(result.steps.at(-1)?.meta.usage).toMatchObject({ output_tokens: expect.any(Number) });
    const calls = log
      .filter((line) => line.startsWith("root subagent_call"))
      .map((line) => JSON.parse(line.slice(line.indexOf("{"))) as Record<string, unknown>);
    expect(calls.filter(({ type }) => type === "subagent_call_start")).toHaveLength(4);
    const ids = (type: string) =>
      calls
        .filter((call) => call.type === type)
        .map(({ callId, subagentNodeId }) => `${String(subagentNodeId)} ${String(callId)}`);
    expect(ids("subagent_call_end").sort()).toEqual(ids("subagent_call_start").sort());
    expect(calls.filter(({ depth }) => depth === 2)).toMatchObject(
      Array.from({ length: 4 }, () => ({
        ...{ parentNodeId: "root", subagentNodeId: "leaf", subagentName: "Reader" },
        parentCallId: expect.stringMatching(/^call_1_[12]$/),
      })),
    );
  });

  test("records the work of each call separately, even for two identical calls in one turn", async () => {
    const agents = scripted({
      "You lead": [["mid", "mid"].map((tool) => ({ tool, input: { message: "look" } })), "done"],
      "You research": [[{ tool: "leaf", input: { message: "read" } }], "found"],
      "You read": ["page"],
    });
    const keys: string[] = [];
    const record = async (key: string) => keys.push(key) > 0;
    const journal: Journal = { read: async () => [], record };
    await drawn(nodes, links, { agents, options: { journal } });
    // The lead has two turns and two results. Each call has two turns and a result, and its nested call has one turn.
    const counts = [...Map.groupBy(keys, (key) => key).values()].map(({ length }) => length);
    expect(counts.sort((a, b) => a - b)).toEqual([1, 1, 3, 3, 4]);
  });

  test("is described to the calling model by prompts, tools and names", async () => {
    const names = ["A", "B", "C", "D", "E", "F"];
    const children = names.map((name) => agent(name, { agentName: name, systemPrompt: "x" }));
    const wide = [
      ...nodes.slice(0, 2),
      agent("mid", { ...lead, agentName: "Mid", systemPrompt: `p ${"long ".repeat(100)}` }),
      ...children,
    ];
    let description = "";
    let turns = 0;
    const agents = scripted({
      "You lead": [
        ({ tools }) => {
          description = tools[0]?.description ?? "";
          turns += 1;
          return "done";
        },
      ],
    });
    const all = names.map((name) => `mid -subagent-> ${name}`).join("; ");
    await drawn(wide, `s -> root; root -subagent-> mid; ${all}`, { agents });
    expect(turns).toBe(1);
    const [first = "", ...others] = description.split("\n");
    expect(first).toStartWith("Asks the agent Mid: p long long");
    expect(first.length).toBeLessThan(320);
    expect(others).toEqual(["Subagents: A, B, C, D +2 more."]);
  });

  test("whose call fails returns the reason to the caller, and an error ends each open call", async () => {
    const failing = scripted({
      "You lead": [[{ tool: "mid", input: { message: "look" } }], "went on"],
    });
    const { result, log } = await published(() => drawn(nodes, links, { agents: failing }));
    expect(texts(result).at(-1)).toBe("root: went on");
    const types = (all: string[]) =>
      all.flatMap((line) => /subagent_call_\w+(?=:)/.exec(line)?.[0] ?? []);
    expect(types(log)).toEqual(["subagent_call_start", "subagent_call_error"]);

    const throwing: GraphAgents = async (_, { onCall }) => {
      const call = { subagentNodeId: "mid", subagentName: "Mid", depth: 1 };
      onCall({ type: "subagent_call_start", ...call, callId: "1" });
      onCall({ type: "subagent_call_start", ...call, callId: "2" });
      onCall({ type: "subagent_call_end", ...call, callId: "1" });
      throw new Error("gone");
    };
    const thrown = await published(() => drawn(nodes, links, { agents: throwing }));
    expect(types(thrown.log)).toEqual([
      ...["subagent_call_start", "subagent_call_start"],
      ...["subagent_call_end", "subagent_call_error"],
    ]);
    expect(thrown.log.find((line) => line.includes("call_error"))).toContain('"message":"gone"');
  });
});

describe("a subagent connection that violates a rule", () => {
  const on = (id: string) => agent(id, lead);
  const all = [start("s"), on("a"), on("b"), on("c"), agent("off"), condition("if")];
  test.each([
    ["a -subagent-> if", "a -> if: if is not an agent"],
    ["if -subagent-> b", "if -> b: if is not an agent"],
    ["a -subagent-> stranger", "a -> stranger: stranger is not an agent"],
    ["off -subagent-> b", "off -> b: subagents are not enabled on off"],
    ["a -subagent-> a", "a -> a: an agent cannot be its own subagent"],
    ["a -subagent-> c; b -subagent-> c", "b -> c: c already is a subagent of a"],
    ["a -subagent-> b; b -> c", "a -> b: b is part of the execution connection b -> c"],
    ["a -subagent-> b; c -> b", "a -> b: b is part of the execution connection c -> b"],
  ])("%s", async (broken, message) => {
    const outcome = await drawn(all, `s -> off; ${broken}`);
    expect(outcome).toMatchObject({ status: "failed", message: `Subagent connection ${message}` });
    const { errors } = checkGraph({ nodes: all, connections: lines(`s -> off; ${broken}`) });
    expect(errors.map((error) => error.message)).toContain(`Subagent connection ${message}`);
  });

  test("by its handle or by a cycle is reported", async () => {
    const connections = [
      ...lines("s -> off"),
      { source: "a", target: "b", sourceHandle: "subagent", targetHandle: "output" },
    ];
    const [error] = checkGraph({ nodes: all, connections }).errors;
    expect(error?.message).toBe(
      "Subagent connection a -> b: it must end on the handle input of b, not on output",
    );
    const cycle = await drawn(all, "s -> off; a -subagent-> b; b -subagent-> a");
    expect(cycle).toMatchObject({ message: "Subagent cycle detected: a -> b -> a" });
  });
});
