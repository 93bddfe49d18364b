import { expect, test } from "bun:test";
import type { WorkflowLogEntry } from "@uncaged/workflow-graph/run";
import { eventIn } from "./run-client.ts";
import { isInterrupted, itemsOf, type RunItem, shownStatus, summaryOf } from "./run-view.ts";

const graph = {
  nodes: [
    { id: "s", type: "start", data: { initialInput: "Why?" } },
    { id: "a", type: "agent", data: { agentName: "Writer" } },
    { id: "b", type: "agent", data: {} },
    { id: "c", type: "if", data: {} },
    { id: "p", type: "approval", data: { prompt: "Good?" } },
    { id: "q", type: "approval", data: null },
  ],
  connections: [],
};

type Line = [nodeId: string, type: WorkflowLogEntry["type"], content?: string];

const logsOf = (...lines: Line[]): WorkflowLogEntry[] =>
  lines.map(([nodeId, type, content = ""], timestamp) => ({ timestamp, nodeId, type, content }));

const agentIn = (items: readonly RunItem[], at = 0) => {
  const item = items.filter(({ kind }) => kind === "agent")[at];
  if (item?.kind !== "agent") throw new Error("no agent");
  return item;
};

test("a run has a prompt, agents, checks and approvals, in the order of their starts", () => {
  const logs = logsOf(
    ["s", "step_start", "start node"],
    ["a", "step_start", "Writer agent node"],
    ["a", "start_prompt", "Why?"],
    ["b", "step_start", "Agent agent node"],
    ["b", "llm_response", "two"],
    ["a", "llm_response", "**one**"],
    ["c", "step_start", "condition node"],
    ["c", "logic_check", 'Condition 1 (equal "x") evaluated as false'],
    ["c", "logic_check", 'Condition 2 (contains "o") evaluated as true'],
    ["p", "step_start", "approval node"],
    ["p", "wait_input", "Waiting for user approval"],
    ["q", "wait_input", "Waiting for user approval"],
    ["system", "warn", 'Connection target "x" not found'],
    ["p", "input_received", "User approved this step. Feedback: fine"],
    ["q", "wait_input", "Waiting for user approval"],
  );
  const approval = { kind: "approval", name: "User Approval" };
  expect(itemsOf(graph, logs, "paused")).toMatchObject([
    { kind: "prompt", text: "Why?" },
    { kind: "agent", name: "Writer", state: "done", prompt: "Why?", text: "**one**" },
    { kind: "agent", name: "Agent", state: "done", prompt: null, text: "two" },
    { kind: "checks", name: "Condition", lines: { length: 2 } },
    { ...approval, prompt: "Good?", answer: "User approved this step. Feedback: fine" },
    { ...approval, prompt: "Approval required before continuing.", answer: null },
    { kind: "line", level: "warning", name: null },
  ]);
});

test("a node has an item for each of its runs", () => {
  const round: Line[] = [
    ["a", "step_start"],
    ["a", "llm_response", "text"],
    ["p", "wait_input"],
    ["p", "input_received", "User rejected this step."],
  ];
  const items = itemsOf(graph, logsOf(...round, ...round, ["a", "step_start"]), "running");
  expect(items.map(({ kind }) => kind)).toEqual([
    ...["prompt", "agent", "approval", "agent", "approval", "agent"],
  ] as never);
  expect(agentIn(items, 2).state).toBe("running");
});

test("each of several running agents shows its own text so far", () => {
  const logs = logsOf(["b", "step_start"], ["a", "llm_response", "whole"], ["b", "step_start"]);
  const each = {
    nodes: [...graph.nodes.slice(0, 2), { id: "b", type: "agent", data: { join: "each" } }],
  };
  const writing = new Map([
    ["a", ["late"]],
    ["b", ["one", ""]],
    ["gone", ["x"]],
  ]);
  const items = itemsOf(each, logs, "running", writing);
  expect([0, 1, 2].map((at) => agentIn(items, at).text)).toEqual(["one", "whole", null]);
});

test("calls of subagents are a counted tree under the root agent", () => {
  const call = (type: WorkflowLogEntry["type"], callId: string, more = {}): Line => [
    ...(["a", type] as const),
    JSON.stringify({ type, parentNodeId: "a", subagentNodeId: "b", callId, ...more }),
  ];
  const logs = logsOf(
    ["a", "step_start"],
    call("subagent_call_start", "1", { subagentName: "One" }),
    call("subagent_call_start", "2", { subagentName: "Two", parentCallId: "1" }),
    call("subagent_call_start", "3"),
    call("subagent_call_end", "2", { message: "found" }),
    call("subagent_call_error", "3", { message: "boom" }),
    call("subagent_call_end", "never begun"),
    ["a", "subagent_call_start", "no JSON"],
    ["a", "subagent_call_start", '{"callId": 5}'],
  );
  const { calls } = agentIn(itemsOf(graph, logs, "running"));
  expect(calls).toMatchObject([
    { name: "One", state: "running", calls: [{ name: "Two", state: "done", message: "found" }] },
    { name: "b", state: "failed", message: "boom", calls: [] },
  ]);
  expect(summaryOf(calls)).toBe("Subagents: 1 running · 1 done · 1 failed");
  expect(summaryOf(calls.slice(0, 1))).toBe("Subagents: 1 running · 1 done");
  const ended = agentIn(itemsOf(graph, logs, "cancelled"));
  expect([ended.state, ended.calls[0]?.state]).toEqual(["stopped", "stopped"]);
});

test("a running subagent shows its text so far, and its answer after its end", () => {
  const call = (type: WorkflowLogEntry["type"], callId: string, more = {}): Line => [
    ...(["a", type] as const),
    JSON.stringify({ type, parentNodeId: "a", subagentNodeId: "b", callId, ...more }),
  ];
  const logs = [
    ["a", "step_start"] as Line,
    call("subagent_call_start", "1", { message: "asked" }),
    call("subagent_call_start", "2", { message: "asked", parentCallId: "1" }),
    call("subagent_call_start", "3", { message: "asked" }),
    call("subagent_call_end", "3", { message: "found" }),
  ];
  const writing = new Map([["b", ["so far", "inner"]]]);
  const { calls } = agentIn(itemsOf(graph, logsOf(...logs), "running", writing));
  expect(calls).toMatchObject([
    { message: "asked", text: "so far", calls: [{ message: "asked", text: "inner" }] },
    { message: "found", text: null },
  ]);
});

test("an agent whose worker was lost is stopped once it restarts", () => {
  const logs = logsOf(["a", "step_start"], ["a", "step_start"]);
  const items = itemsOf(graph, logs, "running");
  expect([agentIn(items).state, agentIn(items, 1).state]).toEqual(["stopped", "running"]);
});

test("a failure is shown once, and a completed run with a failed model counts as failed", () => {
  const logs = logsOf(["a", "step_start"], ["a", "llm_error", "no key"]);
  expect(agentIn(itemsOf(graph, logs, "failed"))).toMatchObject({
    state: "failed",
    text: "no key",
  });
  expect(shownStatus("completed", logs)).toBe("failed");
  expect(shownStatus("completed", [])).toBe("completed");
  expect(shownStatus("cancelled", logs)).toBe("cancelled");
  const [line] = logsOf(["system", "error", "Run was interrupted"]);
  const lost = line ? [{ ...line, reason: "interrupted" as const }] : [];
  expect([isInterrupted("failed", lost), isInterrupted("failed", logs)]).toEqual([true, false]);
});

test("entries of unknown nodes, and hostile names, are shown as they are", () => {
  const logs = logsOf(
    ["gone", "llm_response", "x"],
    ["__proto__", "llm_error", "y"],
    ["p", "input_received", "z"],
  );
  expect(itemsOf(null, logs, "completed")).toMatchObject([
    { kind: "agent", name: "gone", text: "x" },
    { kind: "agent", name: "__proto__", state: "failed" },
    { kind: "approval", answer: "z" },
  ]);
});

test("lines of a stream without an event are skipped", () => {
  expect(eventIn('data: {"type":"start","runId":"1"}')).toEqual({ type: "start", runId: "1" });
  for (const line of ["", ": ping", "id: 5", "data: {", "data: 5", 'data: {"type":5}']) {
    expect(eventIn(line)).toBeNull();
  }
});
