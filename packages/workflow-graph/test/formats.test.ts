import { describe, expect, test } from "bun:test";
import { isWorkflowError } from "@uncaged/workflow";
import { checkGraph } from "../src/entry/document.ts";
import { checkedGraph, isGraph } from "../src/entry/source.ts";
import { agent, lines, start } from "./parts.ts";

const errorsOf = (document: unknown) => checkGraph(document).errors.map(({ message }) => message);
const edge = { id: "e", source: "1", target: "2" };

/* Shortened real documents. */
const documents: [string, unknown][] = [
  ["a step workflow", { version: "3.18", name: "x", registry: {}, steps: [{ id: "Stop_End" }] }],
  ["a plan", { schema_version: "1.0", name: "x", trigger: { on: "manual" }, steps: [] }],
  ["the record of a run", { runId: "1", workflow: { nodes: [] }, logs: [], status: "completed" }],
  [
    "a workflow of n8n",
    {
      nodes: [{ name: "a", type: "n8n-nodes-base.start", typeVersion: 1, position: [0, 0] }],
      connections: { a: { main: [] } },
    },
  ],
  ["an app of Dify", { kind: "app", workflow: { graph: { nodes: [], edges: [] } } }],
  ["a flow of Langflow", { name: "x", data: { nodes: [], edges: [], viewport: {} } }],
  ["a workflow of ComfyUI", { last_node_id: 2, last_link_id: 1, nodes: [], links: [] }],
  [
    "a flow of Flowise",
    { nodes: [{ id: "1", position: { x: 0, y: 0 }, data: { inputAnchors: [] } }], edges: [edge] },
  ],
  [
    "a document of React Flow",
    { nodes: [{ id: "1", position: { x: 0, y: 0 }, data: { label: "x" } }], edges: [edge] },
  ],
  [
    "a graph of LangGraph",
    { nodes: [{ id: "__start__", type: "schema", data: "__start__" }], edges: [edge] },
  ],
  ["a state machine of Amazon States Language", { StartAt: "A", States: { A: { End: true } } }],
  ["a workflow of GitHub Actions", { name: "x", on: "push", jobs: {} }],
  ["a flow of Node-RED", [{ id: "1", type: "inject", wires: [["2"]] }]],
  ["a string that contains JSON", '{"nodes": [], "connections": []}'],
];

describe("a document of another format", () => {
  test.each(documents)("is recognized: %s", (name, document) => {
    const errors = errorsOf(document);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toStartWith(`this is ${name}`);
    expect(errors[0]).toEndWith(
      'an agent graph is an object with the arrays "nodes" and "connections"',
    );
  });

  test("is reported with its file by add, unless it is another kind of source", () => {
    for (const [name, document] of documents) {
      if (typeof document === "string") continue;
      const text = JSON.stringify(document);
      const isSteps = name === "a step workflow" || name === "a plan";
      expect([name, isGraph(text, "x.json")]).toEqual([name, !isSteps]);
      if (isSteps) continue;
      try {
        checkedGraph(text, "x.json");
        expect(name).toBe("refused");
      } catch (error) {
        expect(isWorkflowError(error) && error.message).toStartWith(`x.json:1:1: this is ${name}`);
      }
    }
  });

  test.each([[null], [5], ["text"], [[]], [{}], [{ nodes: [] }], [{ connections: [], nodes: 1 }]])(
    "is not recognized: %j",
    (document) => {
      const errors = errorsOf(document);
      expect(errors.length).toBeGreaterThan(0);
      expect(errors.join()).not.toContain("this is");
    },
  );
});

describe("a graph written by a newer version", () => {
  const graph = { nodes: [start("s"), agent("a")], connections: lines("s -> a") };

  test("is refused if its format version is newer", () => {
    expect(errorsOf({ ...graph, version: 1 })).toEqual([]);
    expect(errorsOf({ ...graph, version: "mine" })).toEqual([]);
    expect(errorsOf({ ...graph, version: 2 })).toEqual([
      "the graph has format version 2, but this program supports version 1: update uncaged-workflow",
    ]);
  });

  test("keeps unknown fields and node types, with a warning for nodes that can't run", () => {
    const loop = { id: "l", type: "loop", over: "items", data: { limit: 3 } };
    const document = { ...graph, groups: [], nodes: [...graph.nodes, loop] };
    const { warnings } = checkGraph(document);
    expect(warnings.map(({ message }) => message)).toEqual([
      'l: "loop" is not a node type; the node is skipped with an empty output',
    ]);
    const { document: kept } = checkedGraph(JSON.stringify(document), "g.json");
    expect(kept).toEqual(document as never);
  });

  test("is refused in one line for an unknown value", () => {
    const nodes = [start("s"), agent("a", { join: "first" })];
    expect(errorsOf({ ...graph, nodes })).toEqual(["nodes[1].data.join must be one of all, each"]);
  });
});

describe("a document with names of JavaScript's prototypes", () => {
  test("is read like any other document", () => {
    const text =
      '{"__proto__":{"nodes":1},"nodes":[{"id":"s","type":"start","__proto__":{"id":"x"},"data":{"__proto__":{"join":"x"}}},{"id":"constructor","type":"agent","data":{"tools":{"__proto__":true,"toString":false}}}],"connections":[{"source":"s","target":"constructor"}]}';
    const document: unknown = JSON.parse(text);
    expect(errorsOf(document)).toEqual([]);
    expect(checkGraph(document, { tools: [] }).errors.map(({ message }) => message)).toEqual([
      'constructor: no tool "__proto__" found; tools: subagents',
    ]);
    const broken: unknown = JSON.parse('{"__proto__":{"nodes":[]},"connections":[]}');
    expect(errorsOf(broken)).toEqual(["nodes is missing"]);
    const own: unknown = JSON.parse(text.replace('"constructor"', '"__proto__"'));
    expect(errorsOf(own)).toEqual(["nodes[1].id must not begin with __, which is reserved"]);
  });
});
