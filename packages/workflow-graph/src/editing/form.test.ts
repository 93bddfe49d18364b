import { describe, expect, test } from "bun:test";
import { applyEdits, type DocumentPath, editsOf, inverseOf } from "@uncaged/workflow/editing";
import { graphEditing } from "./editing.ts";

const choices = { models: ["gpt-5"], reasoningEfforts: ["low"], tools: ["readFile"] };
const kind = graphEditing(() => choices);

type Drawn = { nodes: { data?: Record<string, unknown> }[]; connections: unknown[] };

const condition = (value: string) => ({ operator: "equal", value });
const three = [condition("a"), condition("b"), condition("c")];
const branches = ["condition-0", "condition-1", "condition-2", "false"].map((sourceHandle) => ({
  ...{ source: "if", target: `to-${sourceHandle}` },
  sourceHandle,
}));

/** Returns the document after the edit of a field. Asserts that one undo restores the text exactly. */
function set(document: object, node: string, path: DocumentPath, value: unknown): Drawn {
  const edit = kind.form(document, node)?.edit?.(path, value);
  if (!edit || "refused" in edit) throw new Error(edit?.refused ?? "no form");
  const text = JSON.stringify(document, null, 2);
  const edits = editsOf(text, edit.changes);
  const after = applyEdits(text, edits);
  expect(applyEdits(after, inverseOf(edits))).toBe(text);
  return JSON.parse(after) as Drawn;
}

const branching = (data: object) => ({
  nodes: [
    { id: "if", type: "if", data },
    ...branches.map(({ target }) => ({ id: target, type: "agent" })),
  ],
  connections: branches,
});
const handles = ({ connections }: Pick<Drawn, "connections">): string[] =>
  connections.map((one) => {
    const { sourceHandle, target } = one as { sourceHandle: string; target: string };
    return `${sourceHandle} ${target}`;
  });

describe("the conditions of a node", () => {
  test("lose the lines of a removed condition, and higher conditions are renumbered", () => {
    const next = set(branching({ conditions: three }), "if", ["conditions", 1], undefined);
    expect(next.nodes[0]?.data).toEqual({ conditions: [condition("a"), condition("c")] });
    expect(handles(next)).toEqual([
      "condition-0 to-condition-0",
      "condition-1 to-condition-2",
      "false to-false",
    ]);
  });

  test("keep their lines when they are reordered", () => {
    const document = branching({ conditions: three });
    const [a, b, c] = three;
    const next = set(document, "if", ["conditions"], [c, a, b]);
    expect(handles(next)).toEqual([
      "condition-1 to-condition-0",
      "condition-2 to-condition-1",
      "condition-0 to-condition-2",
      "false to-false",
    ]);
  });

  test("are added and edited without a change of lines", () => {
    const document = branching({ conditions: three });
    const more = set(document, "if", ["conditions", 3], condition("d"));
    expect(more.nodes[0]?.data).toEqual({ conditions: [...three, condition("d")] });
    const other = set(document, "if", ["conditions", 0, "value"], "z");
    expect(other.nodes[0]?.data).toEqual({ conditions: [condition("z"), ...three.slice(1)] });
    expect([handles(more), handles(other)]).toEqual([handles(document), handles(document)]);
  });

  test("of the legacy form are converted when edited, even without a right side", () => {
    const old = branching({ condition: "x", note: 1 });
    expect(kind.form(old, "if")?.value).toMatchObject({
      conditions: [{ operator: "contains", value: "x" }],
    });
    const next = set(old, "if", ["conditions", 0, "value"], "y");
    expect(next.nodes[0]?.data).toEqual({
      note: 1,
      conditions: [{ operator: "contains", value: "y" }],
    });
    const odd = set(branching({ conditions: [null, 5] }), "if", ["conditions", 0, "value"], "y");
    expect(odd.nodes[0]?.data?.conditions).toEqual([{ operator: "equal", value: "y" }, 5]);
    const none = { nodes: [{ id: "if", type: "if", data: null }], connections: [] };
    expect(set(none, "if", ["conditions", 0], condition("a")).nodes[0]?.data).toEqual({
      conditions: [condition("a")],
    });
  });
});

describe("an agent", () => {
  const team = {
    nodes: [
      { id: "a", type: "agent", data: { tools: { subagents: true, readFile: true } } },
      { id: "b", type: "agent", data: { agentName: "Bee" } },
      { id: "c", type: "agent", data: { tools: { subagents: true } } },
    ],
    connections: [
      { source: "a", target: "b", sourceHandle: "subagent" },
      { source: "a", target: "c", sourceHandle: "output" },
    ],
  };

  test("loses only its subagent lines when subagents are turned off", () => {
    const off = set(team, "a", ["tools", "subagents"], false);
    expect(off.connections).toEqual([team.connections[1]]);
    expect(off.nodes[0]?.data).toEqual({ tools: { subagents: false, readFile: true } });
    expect(set(team, "a", ["tools"], { readFile: true }).connections).toHaveLength(1);
    expect(set(team, "a", ["tools", "subagents"], undefined).connections).toHaveLength(1);
    expect(set(team, "a", ["tools", "readFile"], false).connections).toHaveLength(2);
    expect(set(team, "a", ["agentName"], "x").connections).toHaveLength(2);
  });

  test("that is a subagent has a locked prompt, with the reason", () => {
    expect(kind.form(team, "b")?.locked).toEqual({
      userPrompt: "Agent calls this agent and sends the prompt.",
    });
    expect(kind.form(team, "a")?.locked).toBeUndefined();
    expect(() => set(team, "b", ["userPrompt"], "x")).toThrow("gets its prompt from its caller");
  });

  test("has a form of all fields of the format, with choices", () => {
    const schema = kind.form(team, "a")?.schema as { properties: Record<string, unknown> };
    expect(Object.keys(schema.properties)).toEqual([
      ...["agentName", "systemPrompt", "userPrompt", "model", "reasoningEffort", "tools"],
      ...["guardrail", "join"],
    ]);
    expect(schema.properties.model).toMatchObject({ examples: ["gpt-5"], type: "string" });
    expect(kind.complete?.(team, "a", ["userPrompt"]).map(({ text }) => text)).toEqual([
      ...["{{PREVIOUS_OUTPUT}}", "{{APPROVAL_DECISION}}", "{{APPROVAL_NOTE}}"],
    ]);
    expect(kind.form({ nodes: [{ id: "u", type: "__proto__" }] }, "u")).toBeNull();
    expect(kind.form(team, "nobody")).toBeNull();
  });
});
