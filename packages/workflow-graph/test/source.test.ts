import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { isWorkflowError } from "@uncaged/workflow";
import published from "../schema/graph.schema.json";
import { graphBundle, graphIn } from "../src/entry/index.ts";
import { checkGraph, graphSchema } from "../src/entry/document.ts";
import { checkedGraph, graphSource, isGraph } from "../src/entry/source.ts";
import { agent, approval, condition, drawn, lines, start, texts } from "./drawn.ts";

const nodes = [
  start("s"),
  agent("a"),
  condition("if", { operator: "contains", value: "x" }),
  approval("p"),
];
const sound = { nodes, connections: lines("s -> a; a -> if; if -false-> p; p -reject-> a") };
const fits = new Ajv2020({ strict: false }).compile(published);

/** Returns the first error in a text, or its warnings as JSON. */
function errorOf(text: string, file = "g.json"): string {
  try {
    return JSON.stringify(checkedGraph(text, file, { tools: ["readFile"] }).warnings);
  } catch (error) {
    if (isWorkflowError(error)) return error.message;
    throw error;
  }
}

const withNode = (...more: unknown[]) => JSON.stringify({ ...sound, nodes: [...nodes, ...more] });
const withLinks = (...more: unknown[]) =>
  JSON.stringify({ nodes, connections: [...sound.connections, ...more] });

describe("a graph's file", () => {
  test("that is valid has no error and no warning, in JSON and in YAML", () => {
    expect(errorOf(JSON.stringify(sound))).toBe("[]");
    expect(errorOf(Bun.YAML.stringify(sound), "g.yaml")).toBe("[]");
    expect(fits(sound)).toBe(true);
  });

  test("is refused with the line and column of the error", () => {
    const text =
      '{\n  "nodes": [\n    {"id": "s", "type": "start", "x": "left"}\n  ],\n  "connections": {}\n}';
    expect(errorOf(text)).toBe('g.json:3:39: nodes[0].x must be a number, not "left" (and 1 more)');
    expect(errorOf('{"nodes": []')).toContain("g.json:1:13: ");
  });

  test.each([
    ["a node twice", withNode(start("a")), 'duplicate id "a", first in nodes[1]'],
    [
      "a reserved id",
      withNode({ id: "__wait__", type: "agent" }),
      "nodes[4].id must not begin with __, which is reserved",
    ],
    ["a node without an id", withNode({ type: "agent" }), "nodes[4].id is missing"],
    [
      "data that is a list",
      withNode({ id: "b", type: "agent", data: [] }),
      "nodes[4].data must be an object, not an array",
    ],
    [
      "conditions other than a list",
      withNode({ id: "b", type: "if", data: { conditions: {} } }),
      "nodes[4].data.conditions must be an array, not an object",
    ],
    [
      "a number as value",
      withNode({ id: "b", type: "if", data: { conditions: [{ operator: "equal", value: 5 }] } }),
      "nodes[4].data.conditions[0].value must be a string, not 5",
    ],
    [
      "an unknown join",
      withNode(agent("b", { join: "some" })),
      "nodes[4].data.join must be one of all, each",
    ],
    [
      "an unknown tool",
      withNode(agent("b", { tools: { web_search: true } })),
      'b: no tool "web_search" found; tools: readFile, subagents',
    ],
    [
      "a connection without a source",
      withLinks({ target: "a" }),
      "connections[4].source is missing",
    ],
    [
      "a missing start",
      JSON.stringify({ nodes: [agent("a")], connections: [] }),
      "no start node found",
    ],
  ])("is refused for %s", (_, text, message) => {
    expect(errorOf(text)).toContain(message);
  });

  test.each([
    [
      "a type in capitals",
      withNode({ id: "b", type: "Start" }),
      'b: \\"Start\\" is not a node type',
    ],
    ["a second start", withNode(start("b")), "b: a run begins at s, not here"],
    [
      "an unknown handle",
      withLinks({ source: "if", target: "a", sourceHandle: "condition-9" }),
      'if: no handle \\"condition-9\\" found',
    ],
    [
      "a connection to a missing node",
      withLinks({ source: "a", target: "gone" }),
      'no node \\"gone\\" found',
    ],
    [
      "an unknown operator",
      withNode(condition("b", { operator: "is", value: "x" })),
      'unknown operator \\"is\\", used as equal',
    ],
    [
      "a value that never matches",
      withNode(condition("b", { operator: "equal", value: " " })),
      "an empty value never matches",
    ],
  ])("is accepted with a warning for %s", (_, text, message) => {
    expect(errorOf(text)).toContain(message);
  });

  test("may have any ids, notes and sizes", async () => {
    const odd = ["constructor", "toString", "a b", "é"].map((id) => agent(id));
    const outcome = await drawn(
      [start("s"), ...odd],
      "s -> constructor; constructor -> toString; toString -> é",
    );
    expect(texts(outcome).at(-1)).toBe("é: é(toString(constructor(in)))");
    const large = withNode(
      agent("b", { userPrompt: "x".repeat(1_000_000), note: { any: ["thing"] } }),
    );
    expect(errorOf(large)).toBe("[]");
    const many = Array.from({ length: 10_000 }, (_, at) => agent(`n${at}`));
    const chain = many.slice(1).map(({ id }, at) => ({ source: `n${at}`, target: id }));
    const { errors, warnings } = checkGraph({ nodes: [start("s"), ...many], connections: chain });
    expect([errors, warnings]).toEqual([[], []]);
  });
});

describe("a source", () => {
  test.each([
    [JSON.stringify(sound), true],
    ['{"nodes": 1}', true],
    ['{"nodes": [], "steps": []}', false],
    ['{"version": "3.18", "steps": []}', false],
    ["[]", false],
    ["{", false],
  ])("is a graph by its shape: %s", (text, expected) => {
    expect(isGraph(text, "g.json")).toBe(expected);
  });

  test("refers only to existing files of the package", async () => {
    const { resolve } = await graphSource(() => undefined).module(JSON.stringify(sound), "g.json");
    expect(Object.keys(resolve).sort()).toEqual([
      "@uncaged/workflow-graph",
      "@uncaged/workflow-graph/agents",
    ]);
    expect(Object.values(resolve).filter((path) => !existsSync(path))).toEqual([]);
  });

  test("builds the same module for the same graph, with only the providers that it uses", async () => {
    const source = graphSource(() => undefined);
    const code = async (text: string, file = "g.json") => (await source.module(text, file)).code;
    const plain = await code(JSON.stringify({ $schema: "x", ...sound }, null, 2));
    expect(await code(Bun.YAML.stringify(sound), "g.yaml")).toBe(plain);
    expect(plain).toContain("openaiModels");
    expect(plain).not.toMatch(/anthropicModels|graphTools/);
    const claude = await code(
      withNode(agent("b", { model: "claude-opus-5-5", tools: { readFile: true } })),
    );
    expect(claude).toMatch(
      /anthropicModels\(\), agents\.openaiModels\(\)\], tools: agents\.graphTools/,
    );
  });
});

describe("a bundle", () => {
  test("has a role for each node, and the graph", () => {
    const { descriptor } = graphBundle(sound);
    expect(descriptor.maxRounds).toBe(1000);
    expect(Object.keys(descriptor.roles)).toEqual(["s", "a", "if", "p"]);
    expect(graphIn(descriptor)).toEqual(JSON.parse(JSON.stringify(sound)));
    expect(graphIn({ description: "", roles: {} })).toBeUndefined();
    const many = Array.from({ length: 10_000 }, (_, at) => agent(`node_${at}`));
    expect(graphBundle({ nodes: many }).descriptor).toMatchObject({ roles: {}, strict: false });
  });

  test("refuses invalid step names as ids, and reads any value except a list as empty", async () => {
    expect(() => graphBundle({ nodes: [start("__x")], connections: [] })).toThrow("reserved");
    expect(() => graphBundle({ nodes: [start("x"), agent("x")], connections: [] })).toThrow(
      "two nodes",
    );
    const { run } = graphBundle({ nodes: "none" as never });
    const thread = run({ prompt: "", steps: [] }, { threadId: "t", maxRounds: 9 });
    expect(thread.next()).rejects.toThrow("No start node found in workflow graph");
  });
});

test("a guardrail whose schema can't be compiled is refused with its node's place", () => {
  const data = { guardrail: { schema: { type: "objct" } } };
  const text = JSON.stringify(
    {
      nodes: [
        { id: "s", type: "start" },
        { id: "a", type: "agent", data },
      ],
      connections: [],
    },
    null,
    1,
  );
  const source = graphSource(() => {});
  expect(source.module(text, "g.json")).rejects.toThrow(
    /^g\.json:8:10: a: the guardrail's schema type must be/,
  );
});

test("the published schema is generated from the format", () => {
  const hint = "bun scripts/schema.ts && bun run format";
  const schema: unknown = JSON.parse(JSON.stringify(graphSchema()));
  expect({ hint, schema }).toEqual({ hint, schema: published });
});
