import { beforeEach, describe, expect, test } from "bun:test";
import type { Path } from "@uncaged/workflow/records";
import { ThreadLog } from "../../lib/thread-log.ts";
import { traceRows } from "../trace/rows.ts";
import { documentGraph, documentIn } from "./document-graph.ts";
import { traceGraph } from "./graph.ts";

let log: ThreadLog;
let now: number;

beforeEach(() => {
  log = new ThreadLog();
  log.status = "running";
  now = 0;
});

type Spec = {
  role: string;
  path?: Path;
  parent?: string;
  /** Committed by default; null for a running attempt. */
  outcome?: "failed" | "skipped" | "cancelled" | null;
  meta?: Record<string, unknown>;
};

const event = (attempt: string, type: string, payload: object) => {
  now += 1;
  const line = { tag: "EVENT000", content: "", stepID: null, timestamp: now };
  log.takeEvent(Object.assign(line, { seq: now, attempt, type, payload }));
};

const begin = (attempt: string, { role, path, parent }: Spec) =>
  event(attempt, "attempt_start", { role, ...(path && { path }), ...(parent && { parent }) });

const commit = (attempt: string, { role, meta = {} }: Spec) => {
  now += 1;
  const step = { number: log.steps.length + 1, role, content: "", meta, timestamp: now };
  log.takeStep(Object.assign(step, { attempt }));
};

/** The rows of attempts that run one after the other. */
function rowsOf(...specs: (Spec | string)[]) {
  for (const [index, given] of specs.entries()) {
    const spec = typeof given === "string" ? { role: given } : given;
    const attempt = `a${index}`;
    begin(attempt, spec);
    if (spec.outcome) event(attempt, "attempt_end", { outcome: spec.outcome });
    if (spec.outcome === undefined) commit(attempt, spec);
  }
  return traceRows(log);
}

const lines = ({ edges }: { edges: { from: string; to: string; label: string | null }[] }) =>
  edges.map(({ from, to, label }) => `${lastOf(from)} ${lastOf(to)} ${label ?? 1}`);

const lastOf = (id: string): string => id.split("\n").filter(Boolean).at(-1) ?? "";

describe("the graph of a thread", () => {
  test("has the order of the roles with counts", () => {
    const graph = traceGraph(rowsOf("plan", "code", "test", "code", "test"));
    expect(graph.nodes.map(({ label, count, row }) => [label, count, row])).toEqual([
      ["plan", 1, "a0"],
      ["code", 2, "a3"],
      ["test", 2, "a4"],
    ]);
    expect(lines(graph)).toEqual(["plan code 1", "code test 2×", "test code 1"]);
  });

  test("has a subagent in the box of its caller", () => {
    begin("A", { role: "lead" });
    event("A", "llm_tool_use", { tool_use_id: "t", name: "subagent_reader_reader", input: {} });
    begin("S", { role: "reader", parent: "A", path: [{ in: "lead", child: "reader" }] });
    const { nodes } = traceGraph(traceRows(log));
    expect(
      nodes.map(({ label, isGroup, parent }) => [label, isGroup, lastOf(parent ?? "")]),
    ).toEqual([
      ["lead", true, ""],
      ["reader", false, "lead"],
    ]);
  });

  test("keeps concurrent attempts concurrent: no line leads from one to another", () => {
    const at = (iteration: number): Spec => ({
      role: "read",
      path: [{ in: "step.all", child: "read", iteration }],
    });
    rowsOf("plan");
    for (const index of [0, 1, 2]) begin(`m${index}`, at(index));
    for (const index of [2, 0]) commit(`m${index}`, at(index));
    const live = traceGraph(traceRows(log));
    commit("m1", at(1));
    begin("z", { role: "write" });
    const { nodes, edges } = traceGraph(traceRows(log));
    expect(lines({ edges })).toEqual(["plan read 1", "read write 1"]);
    const members = nodes.filter(({ parent }) => parent !== null);
    expect(members.map(({ label }) => label)).toEqual(["read", "read", "read"]);
    expect(nodes.find(({ id }) => id === members[0]?.parent)).toMatchObject({
      label: "step.all",
      isGroup: true,
    });
    const before = nodes.filter(({ label }) => label !== "write");
    expect(before.map(({ id }) => id)).toEqual(live.nodes.map(({ id }) => id));
  });

  test("has a loop as a box around one iteration's steps, with their runs", () => {
    begin("l", { role: "Loop_A" });
    event("l", "step_start", { type: "Loop" });
    for (const iteration of [0, 1]) {
      for (const role of ["LLM_Ask", "Set_Seen"]) {
        const path = [{ in: "Loop_A", child: "LLM_Ask", iteration }];
        const spec = { role, parent: "l", path };
        begin(`${role}${iteration}`, spec);
        commit(`${role}${iteration}`, spec);
      }
    }
    const graph = traceGraph(traceRows(log));
    const [loop] = graph.nodes;
    expect(graph.nodes.map(({ label, count, parent }) => [label, count, parent])).toEqual([
      ["Loop_A", 0, null],
      ["LLM_Ask", 2, loop?.id ?? ""],
      ["Set_Seen", 2, loop?.id ?? ""],
    ]);
    expect(loop).toMatchObject({ isGroup: true, state: "running" });
    expect(lines(graph)).toEqual(["LLM_Ask Set_Seen 2×"]);
  });

  test("marks running roles before their first commit", () => {
    const { nodes, edges } = traceGraph(rowsOf("plan", { role: "code", outcome: null }));
    expect(nodes.map(({ label, state }) => [label, state])).toEqual([
      ["plan", "committed"],
      ["code", "running"],
    ]);
    expect(lines({ edges })).toEqual(["plan code 1"]);
  });

  test("marks failed roles until they run again", () => {
    const failed = { role: "code", outcome: "failed" } as const;
    expect(traceGraph(rowsOf("plan", failed)).nodes[1]).toMatchObject({
      state: "failed",
      count: 0,
    });
    log = new ThreadLog();
    expect(traceGraph(rowsOf(failed, "code")).nodes[0]).toMatchObject({
      state: "committed",
      count: 1,
    });
  });

  test("has one node for a question and its answer", () => {
    expect(traceGraph(rowsOf("plan", "__wait__")).nodes.at(-1)).toMatchObject({ state: "waiting" });
    log = new ThreadLog();
    const answered = traceGraph(rowsOf("plan", "__wait__", "__input__", "ship"));
    expect(answered.nodes.map(({ label }) => label)).toEqual(["plan", "Question", "ship"]);
    expect(lines(answered).at(-1)).toBe("Question ship 1");
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
  const steps = documentIn({ stepWorkflow: { document } }) ?? {};

  test("has the document's steps, marked by their attempts", () => {
    const branch = { role: "Branch_B", outcome: null };
    for (const held of [document, JSON.stringify(document)]) {
      const read = documentIn({ stepWorkflow: { document: held } }) ?? {};
      log = new ThreadLog();
      const { nodes, edges } = documentGraph(read, rowsOf("LLM_A", branch));
      expect(nodes.map(({ label, state }) => [label, state])).toEqual([
        ["Analyse", "committed"],
        ["Branch_B", "running"],
        ["Set_C", "idle"],
        ["Stop_E", "idle"],
      ]);
      expect(edges.map(({ from, to, kind }) => `${from} ${kind} ${to}`)).toEqual([
        "LLM_A error Stop_E",
        "LLM_A next Branch_B",
      ]);
      expect(nodes.map(({ parent, isGroup }) => [parent, isGroup])).toEqual([
        [null, false],
        [null, true],
        ["Branch_B", false],
        [null, false],
      ]);
    }
  });

  test("marks skipped steps and steps that a Stop cancelled", () => {
    const left = { role: "Set_C", outcome: "skipped" } as const;
    const cancelled = { role: "Branch_B", outcome: "cancelled" } as const;
    const { nodes } = documentGraph(steps, rowsOf("LLM_A", left, "Stop_E", cancelled));
    expect(nodes.map(({ state }) => state)).toEqual([
      "committed",
      "cancelled",
      "skipped",
      "committed",
    ]);
  });

  test("marks the step that waits for an answer", () => {
    const { nodes } = documentGraph(steps, rowsOf({ role: "__wait__", meta: { stepID: "Set_C" } }));
    expect(nodes[2]).toMatchObject({ state: "waiting", row: "a0" });
  });

  test("marks the step that runs a child workflow by the child's steps", () => {
    const path = [{ in: "Set_C", run: "01-1" }];
    const { nodes } = documentGraph(steps, rowsOf({ role: "Set_X", path, outcome: null }));
    expect(nodes.map(({ state, count }) => [state, count])[2]).toEqual(["running", 0]);
    log = new ThreadLog();
    const done = documentGraph(steps, rowsOf({ role: "LLM_A", path }));
    expect(done.nodes.map(({ state }) => state)).toEqual(["idle", "idle", "committed", "idle"]);
  });

  test("has each step in the box of its construct, and the steps after it outside", () => {
    const made = [
      { id: "Loop_A", children: ["Tool_B"], next: "Set_Z" },
      { id: "Tool_B", next: "Branch_C" },
      {
        id: "Branch_C",
        cases: [
          ["$x", "LLM_D"],
          ["ELSE", "Set_E"],
        ],
        next: "Set_F",
      },
      { id: "LLM_D", next: "Set_Z", onError: "Set_E" },
      { id: "Set_E" },
      { id: "Set_F" },
      { id: "Set_Z" },
    ];
    const { nodes } = documentGraph({ steps: made });
    expect(nodes.map(({ id, parent }) => `${id} ${parent}`)).toEqual([
      "Loop_A null",
      "Tool_B Loop_A",
      "Branch_C Loop_A",
      "LLM_D Branch_C",
      "Set_E Branch_C",
      "Set_F Loop_A",
      "Set_Z null",
    ]);
  });

  test("is missing if the descriptor holds no document", () => {
    expect(documentIn({ description: "x" })).toBeNull();
    expect(documentIn({ stepWorkflow: { document: null } })).toBeNull();
    expect(documentIn(null)).toBeNull();
  });
});
