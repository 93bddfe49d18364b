import { describe, expect, test } from "bun:test";
import type { Path } from "@uncaged/workflow/records";
import { ThreadLog } from "../../lib/thread-log.ts";
import { documentGraph, documentSteps, roleGraph } from "./graph.ts";

type Spec = {
  role: string;
  path?: Path;
  /** Committed by default; null for a running attempt. */
  outcome?: "failed" | "skipped" | "cancelled" | null;
  meta?: Record<string, unknown>;
};

function cardsOf(...specs: (Spec | string)[]) {
  const log = new ThreadLog();
  let seq = 0;
  const event = (attempt: string, type: string, payload: object) => {
    seq += 1;
    const line = { tag: "EVENT000", content: "", stepID: null, timestamp: seq };
    log.takeEvent(Object.assign(line, { seq, attempt, type, payload }));
  };
  for (const [index, spec] of specs.entries()) {
    const { role, path, outcome, meta = {} } = typeof spec === "string" ? { role: spec } : spec;
    const attempt = `a${index}`;
    event(attempt, "attempt_start", { role, ...(path && { path }) });
    if (outcome) event(attempt, "attempt_end", { outcome });
    if (outcome !== undefined) continue;
    const step = { number: log.steps.length + 1, role, content: "", meta, timestamp: seq };
    log.takeStep(Object.assign(step, { attempt }));
  }
  return log.cards;
}

describe("the graph of a thread's roles", () => {
  test("has the order of the roles with counts", () => {
    const { nodes, edges } = roleGraph(cardsOf("plan", "code", "test", "code", "test"));
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

  test("marks running roles before their first commit", () => {
    const { nodes, edges } = roleGraph(cardsOf("plan", { role: "code", outcome: null }));
    expect(nodes.map(({ id, state }) => [id, state])).toEqual([
      ["plan", "committed"],
      ["code", "running"],
    ]);
    expect(edges).toMatchObject([{ from: "plan", to: "code" }]);
  });

  test("marks failed roles until they run again", () => {
    const failed = { role: "code", outcome: "failed" } as const;
    expect(roleGraph(cardsOf("plan", failed)).nodes[1]).toMatchObject({
      state: "failed",
      count: 0,
    });
    expect(roleGraph(cardsOf(failed, "code")).nodes[0]).toMatchObject({
      state: "committed",
      count: 1,
    });
  });

  test("has one node for a question and its answer", () => {
    const asked = roleGraph(cardsOf("plan", "__wait__"));
    expect(asked.nodes.at(-1)).toMatchObject({ id: "__wait__", state: "waiting" });
    const answered = roleGraph(cardsOf("plan", "__wait__", "__input__", "ship"));
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
  const steps = documentSteps({ stepWorkflow: { document } }) ?? [];

  test("has the document's steps, marked by their attempts", () => {
    const branch = { role: "Branch_B", outcome: null };
    for (const held of [document, JSON.stringify(document)]) {
      const read = documentSteps({ stepWorkflow: { document: held } }) ?? [];
      const { nodes, edges } = documentGraph(read, cardsOf("LLM_A", branch));
      expect(nodes.map(({ label, state }) => [label, state])).toEqual([
        ["Analyse", "committed"],
        ["Branch_B", "running"],
        ["Set_C", "idle"],
        ["Stop_E", "idle"],
      ]);
      expect(edges.map(({ from, to, kind }) => `${from} ${kind} ${to}`)).toEqual([
        "LLM_A error Stop_E",
        "LLM_A next Branch_B",
        "Branch_B child Set_C",
      ]);
    }
  });

  test("marks skipped steps and steps that a Stop cancelled", () => {
    const left = { role: "Set_C", outcome: "skipped" } as const;
    const cancelled = { role: "Branch_B", outcome: "cancelled" } as const;
    const { nodes } = documentGraph(steps, cardsOf("LLM_A", left, "Stop_E", cancelled));
    expect(nodes.map(({ state }) => state)).toEqual([
      "committed",
      "cancelled",
      "skipped",
      "committed",
    ]);
  });

  test("marks the step that waits for an answer", () => {
    const { nodes } = documentGraph(
      steps,
      cardsOf({ role: "__wait__", meta: { stepID: "Set_C" } }),
    );
    expect(nodes[2]).toMatchObject({ state: "waiting", lastStep: 1 });
  });

  test("marks the step that runs a child workflow by the child's steps", () => {
    const path = [{ in: "Set_C", run: "01-1" }];
    const { nodes } = documentGraph(steps, cardsOf({ role: "Set_X", path, outcome: null }));
    expect(nodes.map(({ state, count }) => [state, count])[2]).toEqual(["running", 0]);
    const done = documentGraph(steps, cardsOf({ role: "LLM_A", path }));
    expect(done.nodes.map(({ state }) => state)).toEqual(["idle", "idle", "committed", "idle"]);
  });

  test("is missing if the descriptor holds no document", () => {
    expect(documentSteps({ description: "x" })).toBeNull();
    expect(documentSteps({ stepWorkflow: { document: null } })).toBeNull();
    expect(documentSteps(null)).toBeNull();
  });
});
