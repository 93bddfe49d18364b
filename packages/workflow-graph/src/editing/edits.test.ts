import { describe, expect, test } from "bun:test";
import { applyEdits, editsOf } from "@uncaged/workflow/editing";
import type { Edit, Refused } from "@uncaged/workflow/editing";
import { graphEditing } from "./editing.ts";

const choices = { models: ["gpt-5"], reasoningEfforts: ["low"], tools: ["readFile"] };
const kind = graphEditing(() => choices);

type Drawn = { nodes: unknown[]; connections: { sourceHandle?: string }[] };

const textOf = (nodes: unknown[], connections: unknown[] = []): string =>
  JSON.stringify({ nodes, connections }, null, 2);

function edited(text: string, edit: Edit | Refused | null): string {
  if (edit === null) return text;
  if ("refused" in edit) throw new Error(edit.refused);
  return applyEdits(text, editsOf(text, edit.changes));
}

const read = (text: string) => JSON.parse(text) as Drawn;
const refusal = (edit: Edit | Refused | null): string | null =>
  edit !== null && "refused" in edit ? edit.refused : null;
const linesIn = (text: string): string[] =>
  kind
    .read(read(text))
    .edges.map(
      ({ source, sourcePort, target, targetPort }) =>
        `${source}.${sourcePort} ${target}.${targetPort}`,
    );
const portsIn = (text: string, id: string): string[] =>
  (kind.read(read(text)).nodes.find((node) => node.id === id)?.ports ?? []).map(
    ({ id: port, role, side, isOpen }) => `${role} ${port} ${side}${isOpen ? "" : " closed"}`,
  );

const start = { id: "node_1", type: "start", x: 0, y: 0, data: {} };
const agent = (id: string, data = {}) => ({ id, type: "agent", x: 0, y: 0, data });
const lead = (id: string) => agent(id, { tools: { subagents: true } });
const condition = (id: string, values: string[], data = {}) => ({
  ...{ id, type: "if", x: 0, y: 0 },
  data: { conditions: values.map((value) => ({ operator: "equal", value })), ...data },
});
const line = (source: string, target: string, sourceHandle?: string) => ({
  ...{ source, target },
  ...(sourceHandle !== undefined && { sourceHandle }),
});

describe("an added node", () => {
  test("is collapsed, has the format's defaults, and gets the next id", () => {
    const text = edited(
      kind.emptyText,
      kind.add(read(kind.emptyText), "agent", { x: 9.6, y: 5.2 }, null),
    );
    expect(read(text).nodes[1]).toEqual({
      ...{ id: "node_2", type: "agent", x: 10, y: 5 },
      data: {
        agentName: "Agent",
        systemPrompt: "You are a helpful assistant.",
        userPrompt: "{{PREVIOUS_OUTPUT}}",
        ...{ model: "gpt-5", reasoningEffort: "low", tools: {}, collapsed: true },
      },
    });
    const far = textOf([start, agent("node_41"), agent("other")]);
    const next = edited(far, kind.add(read(far), "approval", { x: 0, y: 0 }, null));
    expect(read(next).nodes.at(-1)).toMatchObject({ id: "node_42", data: { collapsed: true } });
    expect(kind.check(read(next))).toEqual([]);
  });

  test("is refused as a second Start, and accepted as the first", () => {
    const one = kind.add(read(kind.emptyText), "start", { x: 0, y: 0 }, null);
    expect(refusal(one)).toBe("The graph already has a Start.");
    const none = edited("{}", kind.add({}, "start", { x: 0, y: 0 }, null));
    expect(read(none)).toMatchObject({ nodes: [{ id: "node_1", type: "start" }] });
  });
});

describe("ports", () => {
  test("depend on the type: a Start, an agent, an approval, and an unknown type", () => {
    const text = textOf([start, agent("a"), lead("b"), { id: "p", type: "input" }, { id: "u" }]);
    expect(portsIn(text, "node_1")).toEqual(["out output right"]);
    const plain = ["in input left", "in called top", "out output right"];
    expect(portsIn(text, "a")).toEqual(plain);
    expect(portsIn(text, "b")).toEqual([...plain, "out subagent bottom"]);
    expect(portsIn(text, "p")).toEqual(["in input left", "out approve right", "out reject right"]);
    expect(portsIn(text, "u")).toEqual(["in input left", "out output right"]);
  });

  test("of a condition node are one per condition, or one closed port when it is collapsed", () => {
    const nodes = [
      condition("one", ["x"], { collapsed: true }),
      condition("two", ["x", "y"]),
      condition("folded", ["x", "y"], { collapsed: true }),
      { id: "old", type: "if", data: { condition: "x" } },
    ];
    const text = textOf(nodes, [line("folded", "one", "condition-1"), line("old", "two", "true")]);
    const branch = (...ids: string[]) => ids.map((id) => `out ${id} right`);
    expect(portsIn(text, "one")).toEqual(["in input left", ...branch("condition-0", "false")]);
    expect(portsIn(text, "two")).toEqual([
      "in input left",
      ...branch("condition-0", "condition-1", "false"),
    ]);
    expect(portsIn(text, "folded")).toEqual([
      "in input left",
      "out conditions right closed",
      "out false right",
    ]);
    const folded = kind.read(read(text)).nodes.find(({ id }) => id === "folded");
    expect(folded?.ports[1]?.label).toBe("2 conditions");
    expect(linesIn(text)).toEqual(["folded.conditions one.input", "old.condition-0 two.input"]);
    const from = { node: "folded", port: "conditions" };
    expect(kind.connect(read(text), from, { node: "two", port: "input" })).toBeNull();
  });

  test("that are unknown are shown closed, with their lines", () => {
    const text = textOf([condition("c", ["x"]), agent("a")], [line("c", "a", "condition-7")]);
    expect(portsIn(text, "c")).toContain("out condition-7 right closed");
    expect(linesIn(text)).toEqual(["c.condition-7 a.input"]);
  });
});

describe("a line", () => {
  const nodes = [start, lead("a"), agent("b", { userPrompt: "Ask" }), agent("c")];
  const connect = (connections: unknown[], from: string, to: string, replacing?: string) => {
    const text = textOf(nodes, connections);
    const [source = "", port = ""] = from.split(".");
    const [target = "", entry = "input"] = to.split(".");
    const ends = [
      { node: source, port },
      { node: target, port: entry },
    ] as const;
    return { text, edit: kind.connect(read(text), ends[0], ends[1], replacing) };
  };

  test("is written in the format's form, from whichever end it is drawn", () => {
    const one = connect([], "node_1.output", "a");
    expect(read(edited(one.text, one.edit)).connections).toEqual([line("node_1", "a")]);
    const back = connect([], "a.input", "node_1.output");
    expect(read(edited(back.text, back.edit)).connections).toEqual([line("node_1", "a")]);
  });

  test("is ignored if it leads to its own node, is a duplicate, or joins two ports of one role", () => {
    expect(connect([], "a.output", "a").edit).toBeNull();
    expect(connect([line("a", "c")], "a.output", "c").edit).toBeNull();
    expect(connect([line("a", "c", "output")], "a.output", "c").edit).toBeNull();
    expect(connect([], "a.output", "c.output").edit).toBeNull();
    expect(connect([], "a.output", "missing").edit).toBeNull();
  });

  test("to a subagent ends at the top port, and clears the subagent's prompt", () => {
    const { text, edit } = connect([line("node_1", "a")], "a.subagent", "b.called");
    const next = edited(text, edit);
    expect(linesIn(next)).toEqual(["node_1.output a.input", "a.subagent b.called"]);
    expect(read(next).nodes[2]).toMatchObject({ data: { userPrompt: "" } });
    const onInput = connect([], "a.subagent", "b.input");
    expect(linesIn(edited(onInput.text, onInput.edit))).toEqual(["a.subagent b.called"]);
  });

  test("is refused with the rule when it breaks a rule of subagents", () => {
    expect(refusal(connect([line("node_1", "b")], "a.subagent", "b.called").edit)).toBe(
      "Subagent connection a -> b: b is part of the execution connection node_1 -> b",
    );
    expect(refusal(connect([line("a", "b", "subagent")], "node_1.output", "b").edit)).toContain(
      "b is part of the execution connection",
    );
    expect(refusal(connect([], "c.subagent", "b.called").edit)).toContain("not enabled on c");
    expect(refusal(connect([], "a.output", "node_1").edit)).toContain(
      "No line can lead to the Start",
    );
  });

  test("keeps its position and other properties when its end is dragged", () => {
    const kept = { ...line("node_1", "a"), note: "mine" };
    const id = JSON.stringify(["node_1", "output", "a"]);
    const { text, edit } = connect([kept, line("a", "c")], "node_1.output", "c", id);
    expect(read(edited(text, edit)).connections).toEqual([
      { note: "mine", source: "node_1", target: "c" } as never,
      line("a", "c"),
    ]);
  });
});

describe("a removal", () => {
  test("removes the lines of removed nodes, and keeps the Start", () => {
    const text = textOf(
      [start, agent("a"), agent("b")],
      [line("node_1", "a"), line("a", "b"), line("node_1", "b")],
    );
    const next = edited(text, kind.remove(read(text), ["a", "node_1"], []));
    expect(read(next)).toEqual(read(textOf([start, agent("b")], [line("node_1", "b")])));
    const id = JSON.stringify(["node_1", "output", "b"]);
    const rest = edited(next, kind.remove(read(next), [], [id]));
    expect(read(rest).connections).toEqual([]);
    expect(refusal(kind.remove(read(text), ["node_1"], []))).toContain("can't be deleted");
  });
});

describe("copy and paste", () => {
  test("assigns new ids, keeps lines between the copies, and skips the Start", () => {
    const text = textOf(
      [start, { ...agent("a"), x: 100 }, { ...agent("b"), x: 300, y: 50 }],
      [line("node_1", "a"), line("a", "b")],
    );
    const copied = kind.copy(read(text), ["node_1", "a", "b"]);
    const next = edited(text, kind.paste(read(text), copied, { x: 500, y: 500 }, null));
    expect(read(next).nodes.slice(3)).toEqual([
      { ...agent("node_2"), x: 500, y: 500 },
      { ...agent("node_3"), x: 700, y: 550 },
    ]);
    expect(read(next).connections.slice(2)).toEqual([line("node_2", "node_3")]);
    expect(kind.paste(read(text), { steps: [] }, { x: 0, y: 0 }, null)).toBeNull();
    expect(kind.paste(read(text), "a text", { x: 0, y: 0 }, null)).toBeNull();
  });
});

test("a move changes only positions, and unfolding removes the mark", () => {
  const text = textOf([start, agent("a", { collapsed: true })]);
  const at = { id: "a", at: { x: 4.4, y: 0 }, parent: null };
  const moved = edited(text, kind.move?.(read(text), [at]) ?? null);
  expect(read(moved).nodes[1]).toEqual({ ...agent("a", { collapsed: true }), x: 4 });
  const [folding] = kind.actions?.(read(moved), ["a"]) ?? [];
  expect(folding?.label).toBe("Expand");
  expect(read(edited(moved, folding?.edit ?? null)).nodes[1]).toEqual({ ...agent("a"), x: 4 });
});

test("documents of other formats are recognized", () => {
  const formats: [unknown, string | null][] = [
    [{ nodes: [], connections: [] }, null],
    [{ connections: [] }, null],
    [{ nodes: "none" }, "an object without nodes and connections"],
    [{ version: "1", steps: [] }, "a step workflow (version, steps)"],
    [[1], "a list"],
    [null, "null"],
    ["x", "a string"],
    [5, "a number"],
  ];
  for (const [document, name] of formats) expect(kind.recognize(document)).toBe(name);
});

test("an invalid document is drawn as far as possible", () => {
  const damaged = JSON.parse(`{
    "nodes": [null, 5, {"id": ""}, {"id": "a"}, {"id": "a", "type": "agent"}, {"id": "constructor",
      "type": "toString", "x": "1", "data": null}, {"id": "__proto__", "type": "if", "data": {"conditions": [null, 7]}}],
    "connections": [null, {"target": "a"}, {"source": "a", "target": "gone"}, {"source": "a", "target": "constructor"},
      {"source": "a", "target": "constructor"}], "__proto__": {"nodes": 1} }`) as unknown;
  const { nodes, edges } = kind.read(damaged);
  expect(nodes.map(({ id, title }) => `${id} ${title}`)).toEqual([
    "a a",
    "constructor toString",
    "__proto__ Condition",
  ]);
  expect(edges.map(({ path }) => path.at(-1))).toEqual([3, 4]);
  expect(new Set(edges.map(({ id }) => id)).size).toBe(2);
  for (const nothing of [null, 5, [], "", { nodes: {}, connections: 1 }]) {
    expect(kind.read(nothing)).toEqual({ nodes: [], edges: [] });
  }
});
