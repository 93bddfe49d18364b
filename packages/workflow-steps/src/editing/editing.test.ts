import { describe, expect, test } from "bun:test";
import { validate } from "../check/check.ts";
import { everyType } from "../../test/every-type.ts";
import { documentedSteps } from "../../test/documented-steps.ts";
import {
  applyEdits,
  type Change,
  type Edit,
  editsOf,
  type Refused,
} from "@uncaged/workflow/editing";
import { stepsEditing } from "./editing.ts";

const kind = stepsEditing([]);
const pretty = (value: unknown) => JSON.stringify(value, null, 2);
const changed = (document: unknown, changes: readonly Change[]): typeof everyType =>
  JSON.parse(applyEdits(pretty(document), editsOf(pretty(document), changes))) as typeof everyType;

function after(document: unknown, edit: Edit | Refused | null) {
  if (edit === null || "refused" in edit) throw new Error(`refused: ${edit?.refused}`);
  return changed(document, edit.changes);
}

const errorsIn = (document: unknown) =>
  validate(document)
    .filter(({ severity }) => severity === "error")
    .map(({ message }) => message);

const drawnIn = (document: unknown) => {
  const { nodes, edges } = kind.read(document);
  return {
    parents: Object.fromEntries(nodes.map(({ id, parent }) => [id, parent])),
    edges: edges.map(({ source, sourcePort, target }) => `${source} ${sourcePort} ${target}`),
    order: nodes.map(({ id }) => id),
  };
};

const flow = (...steps: object[]) => ({
  version: "3.18",
  name: "flow",
  registry: { params: ["names([STRING])"], vars: ["$x(STRING)"] },
  steps,
});

/** A loop with a branch in it, a step before it and a step after it. */
const looped = flow(
  { id: "Set_A", target: "$x", value: "1", next: "Loop_B" },
  { id: "Loop_B", source: "=names", children: ["Branch_C"], next: "Stop_Z" },
  {
    id: "Branch_C",
    cases: [
      ["_index > 1", "Set_D"],
      ["ELSE", "Set_E"],
    ],
    next: "Set_F",
  },
  { id: "Set_D", target: "$x", value: "=_item", next: "RETURN" },
  { id: "Set_E", target: "$x", value: "2", next: "RETURN" },
  { id: "Set_F", target: "$x", value: "3", next: "RETURN" },
  { id: "Stop_Z", reason: "=$x" },
);

describe("a drawing", () => {
  test("has a node for every type of step, and constructs around their content", () => {
    const { nodes, edges } = kind.read(everyType);
    expect(nodes).toHaveLength(everyType.steps.length);
    const { parents, order } = drawnIn(everyType);
    expect(parents).toMatchObject({ Loop_Items: "Fork_Both", Set_More: "Branch_Enough" });
    const isBehind = ([id, parent]: [string, string | null]) =>
      parent === null || order.indexOf(parent) < order.indexOf(id);
    expect(Object.entries(parents).every(isBehind)).toBe(true);
    expect(new Set(edges.map(({ id }) => id)).size).toBe(edges.length);
    const bodies = nodes.map(({ id, lines }) => [id, lines] as const);
    expect(Object.fromEntries(bodies)).toMatchObject({
      Tool_010_ReadFile: [
        "ReadFile, continues after an error",
        "file_path: docs/spec.md",
        "→ $text, $plan.raw",
      ],
      Loop_While: ["while $count < 10, at most 5 times"],
      API_010_users: ["POST https://example.org/users/{id}", "→ $results"],
      Noop_Enough: ["leaves the loop"],
    });
  });

  test("has a line for each reference except RETURN and BREAK, and cases with their conditions", () => {
    const { edges } = kind.read(looped);
    expect(edges.map(({ source, target, label }) => [source, target, label])).toEqual([
      ["Set_A", "Loop_B", null],
      ["Loop_B", "Branch_C", null],
      ["Loop_B", "Stop_Z", null],
      ["Branch_C", "Set_D", "_index > 1"],
      ["Branch_C", "Set_E", "ELSE"],
      ["Branch_C", "Set_F", null],
    ]);
  });

  test.each([
    ["nothing", undefined],
    ["a text", "steps"],
    ["malformed steps", { steps: [1, null, { id: 3 }, { id: "Set_A", children: [7], cases: 9 }] }],
    ["two steps with one id", { steps: [{ id: "Set_A" }, { id: "Set_A", next: "Set_A" }] }],
    [
      "constructs that contain each other",
      {
        steps: [
          { id: "Loop_A", children: ["Loop_B"] },
          { id: "Loop_B", children: ["Loop_A"] },
        ],
      },
    ],
    [
      "names of Object.prototype's properties",
      { steps: [{ id: "__proto__", next: "constructor" }, { id: "constructor" }] },
    ],
  ])("accepts %s without an exception", (_, document) => {
    const { nodes } = kind.read(document);
    expect(new Set(nodes.map(({ id }) => id)).size).toBe(nodes.length);
    for (const { id } of nodes) expect(kind.form(document, id)).not.toBeNull();
  });

  test("has all steps of a document with 5,000 steps", () => {
    const steps = Array.from({ length: 5_000 }, (_, n) => ({
      id: `Set_${n}`,
      next: `Set_${n + 1}`,
    }));
    expect(kind.read(flow(...steps)).nodes).toHaveLength(5_000);
  });
});

describe("a reference document", () => {
  test.each(documentedSteps.map(({ what, document }) => [what, document] as const))(
    "stays unchanged when it is opened: %s",
    (_, document) => {
      const text = pretty(document);
      const { nodes } = kind.read(document);
      expect(nodes.map(({ id }) => id).toSorted()).toEqual(
        document.steps.map(({ id }) => id).toSorted(),
      );
      for (const { id } of nodes) kind.form(document, id);
      expect(pretty(document)).toBe(text);
      expect(kind.recognize(document)).toBeNull();
      // A step that is moved away and back differs only in its stored position.
      const there = after(
        document,
        kind.move?.(document, [{ id: nodes[0]?.id ?? "", at: { x: 1, y: 2 }, parent: null }]) ??
          null,
      );
      expect(there.steps[0]).toEqual({ ...document.steps[0], meta: { x: 1, y: 2 } } as never);
    },
  );
});

describe("adding", () => {
  test.each([...new Set(kind.read(everyType).nodes.map(({ type }) => type))])(
    "a step of the type %s creates a step with its own id",
    (type) => {
      const one = after(flow(), kind.add(flow(), type, { x: 0, y: 0 }, null));
      const two = after(one, kind.add(one, type, { x: 0, y: 0 }, null));
      const { nodes } = kind.read(two);
      expect(nodes.map((node) => node.type)).toEqual([type, type]);
      expect(nodes[0]?.at).toBeNull();
    },
  );

  test("a step at a position places it there", () => {
    const made = after(looped, kind.add(looped, "Noop", { x: 30, y: 70 }, "Loop_B", true));
    expect(kind.read(made).nodes.find(({ id }) => id === "Noop_1")?.at).toEqual({ x: 30, y: 70 });
    expect(drawnIn(made).parents).toMatchObject({ Noop_1: "Loop_B" });
  });

  test("a step into a loop, a fork or a branch starts a chain there", () => {
    const inLoop = after(looped, kind.add(looped, "LLM", { x: 0, y: 0 }, "Loop_B"));
    expect(drawnIn(inLoop).parents).toMatchObject({ LLM_1: "Loop_B" });
    const inBranch = after(looped, kind.add(looped, "LLM", { x: 0, y: 0 }, "Branch_C"));
    expect(inBranch.steps[2]?.cases).toEqual([
      ["_index > 1", "Set_D"],
      ["", "LLM_1"],
      ["ELSE", "Set_E"],
    ]);
    expect(errorsIn(inBranch).join()).toContain("cases[1][0]");
  });

  test("a Set declares a variable if none is declared", () => {
    const empty = { version: "3.18", name: "n", registry: {}, steps: [] };
    const made = after(empty, kind.add(empty, "Set", { x: 0, y: 0 }, null));
    expect(made.registry.vars).toEqual(["$result(OBJECT)"]);
    expect(errorsIn(made)).toEqual([]);
  });
});

describe("removing", () => {
  test("a step redirects its predecessors to its successor", () => {
    const made = after(looped, kind.remove(looped, ["Loop_B"], []));
    expect(made.steps.map(({ id }) => id)).toEqual(["Set_A", "Stop_Z"]);
    expect(made.steps[0]?.next).toBe("Stop_Z");
    expect(errorsIn(made)).toEqual([]);
  });

  test("the first step of an iteration makes the next step the first", () => {
    const made = after(looped, kind.remove(looped, ["Branch_C"], []));
    expect(made.steps[1]?.children).toEqual(["Set_F"]);
    expect(errorsIn(made)).toEqual([]);
  });

  test("a step removes all references to it", () => {
    for (const { id } of everyType.steps) {
      const edit = kind.remove(everyType, [id], []);
      const left = errorsIn(after(everyType, edit)).filter((error) => error.includes("no step"));
      expect([id, left]).toEqual([id, []]);
    }
  });

  test("all steps leaves an empty list of steps", () => {
    const all = everyType.steps.map(({ id }) => id);
    expect(after(everyType, kind.remove(everyType, all, [])).steps).toEqual([]);
  });

  test("a line ends the chain, or removes the case or the child", () => {
    const { edges } = kind.read(looped);
    const idOf = (source: string, target: string) =>
      edges.find((edge) => edge.source === source && edge.target === target)?.id ?? "";
    const without = (source: string, target: string) =>
      after(looped, kind.remove(looped, [], [idOf(source, target)]));
    expect(without("Set_A", "Loop_B").steps[0]?.next).toBe("RETURN");
    expect(without("Branch_C", "Set_D").steps[2]?.cases).toEqual([["ELSE", "Set_E"]]);
    expect(without("Loop_B", "Branch_C").steps[1]?.children).toEqual([]);
  });
});

describe("connecting", () => {
  const connect = (document: unknown, from: string, port: string, to: string, replacing?: string) =>
    kind.connect(document, { node: from, port }, { node: to, port: "in" }, replacing);

  test("draws each kind of reference", () => {
    const document = flow(
      { id: "LLM_A", in: { prompt: "x" }, next: "RETURN" },
      { id: "Pause_B", resumeResultTarget: "$x", next: "RETURN" },
      { id: "Fork_C", children: [], next: "RETURN" },
      { id: "Set_D", target: "$x", value: "1", next: "RETURN" },
    );
    expect(after(document, connect(document, "LLM_A", "next", "Pause_B")).steps[0]?.next).toBe(
      "Pause_B",
    );
    expect(after(document, connect(document, "LLM_A", "error", "Set_D")).steps[0]?.onError).toBe(
      "Set_D",
    );
    expect(
      after(document, connect(document, "Pause_B", "timeout", "Set_D")).steps[1]?.timeout,
    ).toEqual({ sec: 3600, on: "Set_D" });
    expect(
      after(document, connect(document, "Fork_C", "children", "Set_D")).steps[2]?.children,
    ).toEqual(["Set_D"]);
    expect(
      connect(
        after(document, connect(document, "Fork_C", "children", "Set_D")),
        "Fork_C",
        "children",
        "Set_D",
      ),
    ).toBeNull();
  });

  test("refuses invalid lines with a reason", () => {
    expect(connect(looped, "Loop_B", "next", "Set_D")).toEqual({
      refused: "Set_D is inside Loop_B: the step after Loop_B must be outside.",
    });
    expect(connect(looped, "Loop_B", "children", "Loop_B")).toMatchObject({
      refused: expect.any(String),
    });
  });

  test("moves a line's end", () => {
    const edge = kind
      .read(looped)
      .edges.find(({ source, target }) => source === "Branch_C" && target === "Set_E");
    const made = after(looped, connect(looped, "Branch_C", "case", "Set_F", edge?.id));
    expect(made.steps[2]?.cases).toEqual([
      ["_index > 1", "Set_D"],
      ["ELSE", "Set_F"],
    ]);
    const other = after(looped, connect(looped, "Set_F", "next", "Set_E", edge?.id));
    expect(other.steps[2]?.cases).toEqual([["_index > 1", "Set_D"]]);
    expect(other.steps[5]?.next).toBe("Set_E");
  });
});

describe("renaming", () => {
  const rename = (document: unknown, id: string, wanted: string) =>
    kind.form(document, id)?.edit?.(["id"], wanted) ?? null;

  test("updates all references", () => {
    for (const { id } of everyType.steps) {
      const made = after(everyType, rename(everyType, id, `${id}x`));
      expect([id, errorsIn(made).filter((error) => error.includes("no step"))]).toEqual([id, []]);
    }
    const made = after(looped, rename(looped, "Set_F", "Set_Last"));
    expect(made.steps[2]?.next).toBe("Set_Last");
  });

  test("to an existing id is refused", () => {
    expect(rename(looped, "Set_F", "Set_A")).toEqual({ refused: "A step Set_A already exists." });
  });

  test("to an id without a type is refused", () => {
    const refused = 'An id is a type, "_" and a name, such as LLM_Plan.';
    expect(rename(looped, "Set_F", "the end")).toEqual({ refused });
  });
});

describe("copy and paste", () => {
  test("assigns new ids, keeps lines between the copies, and removes lines to other steps", () => {
    const fragment = kind.copy(looped, ["Loop_B"]);
    const made = after(looped, kind.paste(looped, fragment, { x: 0, y: 0 }, null));
    expect(made.steps).toHaveLength(12);
    const copy = made.steps.find(({ id }) => id === "Loop_B_2");
    expect(copy).toMatchObject({ children: ["Branch_C_2"], next: "RETURN" });
    expect(errorsIn(made)).toEqual([]);
  });

  test("a Tool without a name keeps the name in its id", () => {
    const document = flow({ id: "Tool_010_ReadFile", input: {}, next: "RETURN" });
    const made = after(
      document,
      kind.paste(document, kind.copy(document, ["Tool_010_ReadFile"]), { x: 0, y: 0 }, null),
    );
    expect(made.steps[1]).toMatchObject({ id: "Tool_2_ReadFile", tool: "ReadFile" });
  });

  test("accepts a step without a workflow around it, and refuses other data", () => {
    expect(
      after(looped, kind.paste(looped, { id: "LLM_New" }, { x: 0, y: 0 }, "Loop_B")).steps[1]
        ?.children,
    ).toEqual(["Branch_C", "LLM_New"]);
    expect(kind.paste(looped, { nodes: [], connections: [] }, { x: 0, y: 0 }, null)).toBeNull();
    expect(kind.paste(looped, "text", { x: 0, y: 0 }, null)).toBeNull();
  });
});

describe("moving", () => {
  test("stores the position in meta beside the author's values", () => {
    const document = flow({
      id: "Set_A",
      meta: { title: "Begin", colour: 1 },
      target: "$x",
      value: "1",
      next: "RETURN",
    });
    const made = after(
      document,
      kind.move?.(document, [{ id: "Set_A", at: { x: 10.4, y: -3 }, parent: null }]) ?? null,
    );
    expect(made.steps[0]?.meta).toEqual({ title: "Begin", colour: 1, x: 10, y: -3 });
    expect(kind.read(made).nodes[0]?.at).toEqual({ x: 10, y: -3 });
  });

  test("into or out of a construct moves the step's chain there", () => {
    const at = { x: 0, y: 0 };
    const into = after(
      looped,
      kind.move?.(looped, [{ id: "Set_A", at, parent: "Loop_B" }]) ?? null,
    );
    expect(drawnIn(into).parents).toMatchObject({ Set_A: "Loop_B", Loop_B: null });
    expect(into.steps[0]?.next).toBe("RETURN");
    const out = after(looped, kind.move?.(looped, [{ id: "Branch_C", at, parent: null }]) ?? null);
    expect(out.steps[1]?.children).toEqual(["Set_F"]);
    expect(errorsIn(out)).toEqual([]);
  });
});

test("documents of other formats are recognized", () => {
  const named = (document: unknown) => kind.recognize(document);
  expect(named({ nodes: [], connections: [] })).toBe("an agent graph");
  expect(named({ _type: "vl_workflow_checkpoint" })).toBe("a checkpoint of a run");
  expect(named({ name: "x" })).toBe("another document");
});

test("completions include the element of a loop and the result of a call", () => {
  const offered = (node: string, path: string[]) =>
    kind.complete?.(looped, node, path).map(({ text }) => text) ?? [];
  expect(offered("Set_D", ["value"])).toEqual(
    expect.arrayContaining(["names", "$x", "_item", "_index"]),
  );
  expect(offered("Stop_Z", ["reason"])).not.toContain("_item");
  const scope = kind.complete?.(everyType, "Tool_010_ReadFile", ["out", "$text"]) ?? [];
  expect(scope.map(({ text }) => text)).toEqual(expect.arrayContaining(["_result", "_toolResult"]));
});
