import { describe, expect, test } from "bun:test";
import { documentGraph, documentSteps, roleGraph } from "./graph.ts";

const run = (...roles: string[]) =>
  roles.map((role, index) => ({ role, number: index + 1, meta: {} }));

describe("the graph of a thread's roles", () => {
  test("tells who followed whom and how often", () => {
    const { nodes, edges } = roleGraph(run("plan", "code", "test", "code", "test"), []);
    expect(nodes.map(({ id, count, lastStep }) => [id, count, lastStep])).toEqual([
      ["plan", 1, 1],
      ["code", 2, 4],
      ["test", 2, 5],
    ]);
    expect(edges.map(({ from, to, label }) => `${from} ${to} ${label ?? 1}`)).toEqual([
      "plan code 1",
      "code test 2×",
      "test code 1",
    ]);
  });

  test("marks the one at work, also when it has not yet committed anything", () => {
    const { nodes, edges } = roleGraph(run("plan"), ["code"]);
    expect(nodes.map(({ id, state }) => [id, state])).toEqual([
      ["plan", "done"],
      ["code", "live"],
    ]);
    expect(edges).toMatchObject([{ from: "plan", to: "code" }]);
  });

  test("marks what failed", () => {
    const { nodes } = roleGraph(run("plan"), [], ["code"]);
    expect(nodes[1]).toMatchObject({ id: "code", state: "failed", count: 0 });
  });

  test("has one node for a question and its answer", () => {
    const asked = roleGraph(run("plan", "__wait__"), []);
    expect(asked.nodes.at(-1)).toMatchObject({ id: "__wait__", state: "waiting" });
    const answered = roleGraph(run("plan", "__wait__", "__input__", "ship"), []);
    expect(answered.nodes.map(({ id }) => id)).toEqual(["plan", "__wait__", "ship"]);
    expect(answered.edges.at(-1)).toMatchObject({ from: "__wait__", to: "ship" });
  });
});

describe("the graph of a document", () => {
  const document = {
    steps: [
      { id: "LLM_A", meta: { title: "Analyse" }, next: "Branch_B", onError: "Stop_E" },
      {
        id: "Branch_B",
        cases: [
          ["$ok == true", "Set_C"],
          ["default", "RETURN"],
        ],
      },
      { id: "Set_C", next: "RETURN" },
      { id: "Stop_E" },
    ],
  };

  test("has its steps, marked by what ran", () => {
    for (const held of [document, JSON.stringify(document)]) {
      const steps = documentSteps({ stepWorkflow: { document: held } }) ?? [];
      const { nodes, edges } = documentGraph(steps, run("LLM_A"), ["Branch_B"]);
      expect(nodes.map(({ label, state }) => [label, state])).toEqual([
        ["Analyse", "done"],
        ["Branch_B", "live"],
        ["Set_C", "idle"],
        ["Stop_E", "idle"],
      ]);
      expect(edges.map(({ from, to, kind }) => `${from} ${kind} ${to}`)).toEqual([
        "LLM_A error Stop_E",
        "LLM_A next Branch_B",
        "Branch_B inside Set_C",
      ]);
    }
  });

  test("marks the step that waits for an answer", () => {
    const steps = documentSteps({ stepWorkflow: { document } }) ?? [];
    const asked = [{ role: "__wait__", number: 1, meta: { stepID: "Set_C" } }];
    const { nodes } = documentGraph(steps, asked, []);
    expect(nodes[2]).toMatchObject({ state: "waiting", lastStep: 1 });
  });

  test("takes what runs inside of a step for that step's own", () => {
    const steps = documentSteps({ stepWorkflow: { document } }) ?? [];
    const { nodes } = documentGraph(steps, [], ["LLM_A/Set_X"], ["Set_C/Tool_Y/Set_Z"]);
    expect(nodes.map(({ state }) => state)).toEqual(["live", "idle", "failed", "idle"]);
  });

  test("is none where the descriptor holds none", () => {
    expect(documentSteps({ description: "x" })).toBeNull();
    expect(documentSteps({ stepWorkflow: { document: null } })).toBeNull();
    expect(documentSteps(null)).toBeNull();
  });
});
