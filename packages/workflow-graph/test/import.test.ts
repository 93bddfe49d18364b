import { describe, expect, test } from "bun:test";
import { isWorkflowError } from "@uncaged/workflow";
import { scriptedProvider } from "@uncaged/workflow-agents";
import { runThread } from "@uncaged/workflow/testing";
import { checkSchema, modelAgents } from "../src/entry/agents.ts";
import { checkGraph } from "../src/entry/document.ts";
import { importGraph, isImportable } from "../src/entry/import.ts";
import { type GraphDocument, graphBundle } from "../src/entry/index.ts";
import { timeless } from "./drawn.ts";
import { agentFlow, builderWorkflow, supportScript } from "./exports.ts";

const linesOf = ({ connections }: GraphDocument): string[] =>
  connections.map(({ source, sourceHandle, target }) =>
    sourceHandle ? `${source} -${sourceHandle}-> ${target}` : `${source} -> ${target}`,
  );

const dataOf = ({ nodes }: GraphDocument, id: string) => nodes.find((node) => node.id === id)?.data;

const leftOf = (text: string): string[] =>
  importGraph(text).left.map(({ at, message }) => `${at}: ${message}`);

describe("the TypeScript of an Agent Builder workflow", () => {
  const { document, from } = importGraph(supportScript);

  test("becomes a valid graph", () => {
    expect(from).toBe("Agent Builder");
    expect(document.description).toBe("Support");
    expect(checkGraph(document).errors).toEqual([]);
    expect(linesOf(document)).toEqual([
      "start -> triage",
      "triage -> condition",
      "condition -condition-0-> fixer",
      "condition -condition-1-> fixer",
      "fixer -> approval",
      "condition -false-> while",
      "while -condition-0-> fixer-2",
      "fixer-2 -> while",
    ]);
    expect(dataOf(document, "triage")).toEqual({
      agentName: "Triage",
      model: "gpt-5",
      reasoningEffort: "low",
      systemPrompt: 'Say whether it is a "bug" or a question.\nUse { braces }.',
      userPrompt: "The mail: {{PREVIOUS_OUTPUT}}",
      guardrail: {
        schema: {
          type: "object",
          properties: {
            kind: { type: "string", enum: ["bug", "question"] },
            urgent: { type: "boolean" },
            score: { anyOf: [{ type: "number" }, { type: "null" }] },
          },
          required: ["kind", "urgent", "score"],
        },
      },
    });
    expect(dataOf(document, "condition")).toEqual({
      conditions: [
        { operator: "contains", value: '"kind":"bug"' },
        { operator: "contains", value: '"urgent":true' },
      ],
    });
    expect(dataOf(document, "approval")).toEqual({ prompt: "Merge it?" });
  });

  test("lists everything that is left out, with its line", () => {
    const lineOf = (text: string) => {
      const at = supportScript.slice(0, supportScript.indexOf(text)).split("\n").length;
      return `line ${at}`;
    };
    expect(leftOf(supportScript)).toEqual([
      "line 1: history: an agent gets the previous output, not the whole conversation",
      `${lineOf("const triage =")}: triage: the model settings store`,
      `${lineOf("const fixer =")}: fixer: the tool fileSearch (fileSearchTool)`,
      `${lineOf("const fixer =")}: fixer: systemPrompt can't read state.goal here; the text shows its name`,
      `${lineOf("const fixer =")}: fixer-2: systemPrompt can't read state.goal here; the text shows its name`,
      `${lineOf("const state =")}: state (goal): a graph has only the previous output`,
      `${lineOf('state.goal = "again"')}: set state: state.goal = "again"`,
      `${lineOf("while (state")}: while: the condition state.count < 3 can't be tested here; its branch exists, but never runs`,
    ]);
  });

  test("runs: the schema's fields decide the branch", async () => {
    const models = [
      {
        name: "script",
        provider: scriptedProvider({
          "Say whether": ['{"kind": "bug", "urgent": false, "score": null}'],
          "Fix it": ["fixed"],
        }),
        serves: () => true,
      },
    ];
    const agents = modelAgents({ models });
    const { run } = graphBundle(document, { agents, schemas: checkSchema });
    const outcome = await runThread(timeless(run), { prompt: "it crashes" });
    expect(outcome.steps.map(({ role }) => role)).toEqual([
      "start",
      "triage",
      "condition",
      "fixer",
      "__wait__",
    ]);
  });
});

test("the JSON of an Agent Builder workflow becomes a graph without the unsupported nodes", () => {
  const text = JSON.stringify(builderWorkflow);
  const { document } = importGraph(text);
  expect(checkGraph(document).errors).toEqual([]);
  expect(linesOf(document)).toEqual([
    "start -> sorter",
    "sorter -> which",
    "which -condition-0-> sure",
  ]);
  expect(dataOf(document, "which")).toEqual({ conditions: [{ operator: "equal", value: "bug" }] });
  expect(dataOf(document, "sorter")).toMatchObject({ userPrompt: "Mail: {{PREVIOUS_OUTPUT}}" });
  expect(leftOf(text)).toEqual([
    "nodes[1].config.tools[0]: Sorter: the tool web_search",
    "nodes[2]: Shape (Transform): no such node here; the nodes around it are connected",
    "edges[5]: the line's node missing is not in the file",
    "nodes: history: an agent gets the previous output, not the whole conversation",
    "nodes[1]: sorter: systemPrompt can't read workflow.input_as_text here; the text shows its name",
  ]);
});

test("an AgentFlow of Flowise becomes a graph with its notes, loops and conditions", () => {
  const text = JSON.stringify(agentFlow);
  const { document, from } = importGraph(text);
  expect(from).toBe("Flowise");
  expect(checkGraph(document).errors).toEqual([]);
  expect(linesOf(document)).toEqual([
    "start -> kind",
    "kind -> bug",
    "bug -condition-0-> reply",
    "reply -> send",
    "send -approve-> last",
    "send -reject-> reply",
  ]);
  expect(document.notes).toEqual([{ id: "note-1", text: "Read me", x: 10, y: 20 }]);
  expect(dataOf(document, "kind")).toMatchObject({
    systemPrompt: "Name the kind.\n- bug",
    userPrompt: "Mail: {{PREVIOUS_OUTPUT}} & more",
    guardrail: { schema: { properties: { kind: { enum: ["bug", "praise"] } } } },
  });
  expect(dataOf(document, "bug")).toEqual({
    conditions: [
      { operator: "contains", value: '"kind":"bug"' },
      { operator: "equal", value: "" },
    ],
  });
  const at = (node: number, input: string) => `nodes[${node}].data.inputs.${input}`;
  expect(leftOf(text)).toEqual([
    `${at(1, "llmModelConfig")}: Kind: temperature`,
    `${at(3, "agentTools")}: Reply: the tools googleCustomSearch`,
    `${at(5, "maxLoopCount")}: Back: the limit of the loop`,
    "nodes[6]: Send Email (toolAgentflow): no such node here; the nodes around it are connected",
    `${at(2, "conditions[1]")}: bug: the condition {{ $flow.state.x }} equal y can't be tested here; its branch exists, but never runs`,
    "nodes[3]: reply: userPrompt can't read $flow.state.next here; the text shows its name",
  ]);
});

describe("another file", () => {
  const flow = JSON.stringify(agentFlow);
  const deep = `{"nodes":${"[".repeat(300_000)}`;
  test.each([
    ["", "x: this is neither JSON nor an export"],
    ["hello", "x: this is neither JSON nor an export"],
    ["{}", "x: this is not a known export"],
    [
      '{"nodes":[],"edges":[]}',
      "x: this is a graph of LangGraph, or another graph of nodes and edges",
    ],
    [flow.slice(0, -20), "x: invalid JSON: "],
    ["from agents import Agent\nagent = Agent()", "x: this is Python, not TypeScript or JSON"],
    [supportScript.slice(0, 900), "x:"],
    [supportScript.slice(0, -30), "x:"],
    ["new Agent({ name: 'a' })", "x:1: no runWorkflow found"],
    ["new Agent('", "x:1: unterminated string"],
    [`new Agent(${"[".repeat(100_000)}`, "x: nested too deeply"],
    [deep, "x: "],
    [`new Agent()${" ".repeat(5_000_000)}`, "x: longer than 4194304 characters"],
  ])("is refused with one line: %#", (text, message) => {
    let said = "nothing";
    try {
      importGraph(text, "x");
    } catch (error) {
      if (!isWorkflowError(error)) throw error;
      expect(error.code).toBe("IMPORT_INVALID");
      said = error.message;
    }
    expect(said).toStartWith(message);
    expect(said).not.toContain("\n");
  });

  test("of a hostile shape never crashes the import", () => {
    const odd: unknown[] = [null, 1, "x", [], {}, { id: 1 }, { id: "__proto__" }, [[]]];
    for (const one of odd)
      for (const base of [agentFlow, builderWorkflow])
        for (const field of ["nodes", "edges"] as const) {
          const document = { ...base, [field]: [...base[field], one] };
          expect(Array.isArray(importGraph(JSON.stringify(document)).document.nodes)).toBe(true);
        }
    for (let end = 0; end < supportScript.length; end += 97) {
      try {
        importGraph(supportScript.slice(0, end));
      } catch (error) {
        expect(isWorkflowError(error)).toBe(true);
      }
    }
  });

  test("of the project's formats is not importable", () => {
    expect([supportScript, JSON.stringify(builderWorkflow), flow].map(isImportable)).toEqual([
      true,
      true,
      true,
    ]);
    expect(isImportable('{"nodes":[],"connections":[]}')).toBe(false);
  });
});
