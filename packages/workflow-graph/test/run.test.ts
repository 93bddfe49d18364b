import { describe, expect, test } from "bun:test";
import { markerOf } from "../../workflow/src/contract/event.ts";
import { runThread } from "@uncaged/workflow/testing";
import { graphBundle } from "../src/entry/index.ts";
import {
  foldRun,
  importProblem,
  logEntryOf,
  type RunRecord,
  runResult,
  wholeLogEntry,
} from "../src/entry/run.ts";
import { logEvent } from "../src/interpreter/log.ts";
import { agent, approval, drawn, echo, lines, published, start, texts } from "./drawn.ts";

const nodes = [start("s"), agent("a"), approval("p"), agent("b")];
const document = { nodes, connections: lines("s -> a; a -> p; p -approve-> b") };
const line = { timestamp: 7, nodeId: "a", type: "llm_response", content: "a(in)" } as const;

const resultOf = (status: string, steps: object[], more = {}) =>
  runResult({
    runId: "1",
    document,
    logs: [line],
    thread: { status, steps: steps as never, createdAt: 1, ...more },
  });

describe("the result of a run", () => {
  test("matches each status of its thread", async () => {
    const { steps } = await drawn(nodes, "s -> a; a -> p; p -approve-> b");
    const shown = (status: string, of: object[], more = {}) => {
      const { currentNodeId, logs, status: shownAs, waitingForInput } = resultOf(status, of, more);
      return [shownAs, waitingForInput, currentNodeId, ...logs.slice(1).map((one) => one.content)];
    };
    const working = steps.slice(0, 1);
    expect(shown("running", working)).toEqual(["running", false, "s"]);
    expect(shown("paused", working)).toEqual(["running", false, "s"]);
    expect(shown("interrupted", working)).toEqual(["failed", false, "s", "Run was interrupted"]);
    expect(shown("corrupt", working)[0]).toBe("failed");
    expect(shown("killed", working)).toEqual(["cancelled", false, "s"]);
    // The run has reached the approval, but has not committed the question.
    expect(shown("running", steps.slice(0, 2))).toEqual(["paused", true, "p"]);
    expect(shown("waiting", steps)).toEqual(["paused", true, "p"]);
    const failed = { result: { summary: "no worker" } };
    expect(shown("failed", working, failed)).toEqual(["failed", false, "s", "no worker"]);
  });

  test("has the last output without parallel work as previous_output", async () => {
    const all = [start("s"), agent("a"), agent("b"), agent("c")];
    const links = "s -> a, b; a -> c; b -> c";
    const { steps } = await drawn(all, links);
    const diamond = { nodes: all, connections: lines(links) };
    const shown = steps.map((_, at) => {
      const { state } = foldRun(diamond, { steps: steps.slice(0, at + 1) });
      return state.previous_output;
    });
    expect(shown).toEqual(["in", "in", "in", "c(a(in)\n\nb(in))"]);
  });

  test("names the question as soon as it is recorded, before its thread waits", async () => {
    const { steps } = await drawn(nodes, "s -> a; a -> p; p -approve-> b");
    expect(steps.at(-1)?.role).toBe("__wait__");
    const questions = ["running", "waiting", "killed"].map((one) => resultOf(one, steps).question);
    expect(questions).toEqual([steps.length, steps.length, null]);
    expect(resultOf("running", steps.slice(0, -1)).question).toBeNull();
  });

  test("has a failure's message once, and no running node in a completed run", async () => {
    const failing = { ...line, type: "llm_error", content: "gone" } as const;
    const thread = { status: "failed", steps: [], createdAt: 1, result: { summary: "gone" } };
    const { logs } = runResult({ runId: "1", document, logs: [failing], thread });
    expect(logs).toEqual([failing]);
    const done = await drawn(nodes, "s -> a; a -> p; p -approve-> b", { answers: ["yes"] });
    const { state, ...result } = resultOf("completed", done.steps);
    expect(result).toMatchObject({ status: "completed", waitingForInput: false });
    expect(result.currentNodeId).toBeNull();
    expect(state).toEqual({
      s: "in",
      a: "a(in)",
      p_approval: { decision: "approve", note: "" },
      b: "b(a(in))",
      previous_output: "b(a(in))",
    });
  });
});

test("a log line has the decision of an answer, even if an earlier version wrote it only in its text", () => {
  const entryOf = (content: string, decision?: null | "approve" | "reject") => {
    const { payload, type } = logEvent("a", "input_received", content, { decision });
    const recorded = { seq: 1, timestamp: 5, stepID: "a", type };
    return logEntryOf({ ...recorded, payload })?.decision;
  };
  const rejected = "User rejected this step. Feedback: shorter";
  expect(entryOf("no", "reject")).toBe("reject");
  expect([entryOf(rejected), entryOf("User approved this step.")]).toEqual(["reject", "approve"]);
  // An agent's output may contain the same words.
  expect([entryOf(rejected, null), entryOf("hello")]).toEqual([undefined, undefined]);
});

describe("a log line too long for its event", () => {
  const content = `"quoted"\n${"ä".repeat(20_000)}`;
  const event = {
    ...{ seq: 1, timestamp: 5, type: "graph_log", stepID: "a" },
    payload: {
      nodeId: "a",
      type: "llm_response",
      content: { ...markerOf(JSON.stringify(content)) },
    },
  };

  test("begins like the whole line", () => {
    const shown = logEntryOf(event)?.content ?? "";
    expect(shown.endsWith("…")).toBe(true);
    expect(content.startsWith(shown.slice(0, -1))).toBe(true);
  });

  test("is read whole from the thread's values, and shortened if they are lost", async () => {
    const at = {
      ...event,
      payload: { ...event.payload, content: { ...event.payload.content, at: 9 } },
    };
    const whole = await wholeLogEntry(at, async (from) => JSON.stringify(`${content}${from}`));
    expect(whole?.content).toBe(`${content}9`);
    const lost = await wholeLogEntry(at, async () => Promise.reject(new Error("lost")));
    expect(lost).toEqual(logEntryOf(at));
  });
});

describe("another program's record of a run", () => {
  const all = [start("s"), agent("a"), approval("p"), approval("q"), agent("b"), agent("c")];
  const connections = "s -> a, p, q; a -> c; p -approve-> b; q -approve-> b";
  const workflow = { nodes: all, connections: lines(connections) };
  const record = {
    ...{ runId: "1700000000000", workflow, logs: [line], status: "paused" },
    state: {
      ...{ s: "in", a: "work", gone: "old", previous_output: "work", pre_approval_output: "in" },
      __approval_contexts__: { p: "in", q: "asked" },
      __pending_approval_queue__: ["q", "unknown"],
      __deferred_node_queue__: [{ nodeId: "c" }],
    },
    currentNodeId: "p",
    waitingForInput: true,
  } satisfies RunRecord;
  const { run } = graphBundle(workflow, { agents: echo });
  const options = { importedRun: record };

  test("continues at its question, with its log, its state and its deferred nodes", async () => {
    const { log, result } = await published(() => runThread(run, { options }));
    expect(result).toMatchObject({
      status: "waiting",
      wait: { meta: { nodeId: "p", input: "in" } },
    });
    expect(log).toEqual(["a llm_response: a(in)"]);
    const shown = foldRun(workflow, result);
    expect(shown).toMatchObject({ currentNodeId: "p", waitingForInput: true });
    expect(shown.state).toMatchObject({
      ...{ s: "in", a: "work", gone: "old", previous_output: "work", pre_approval_output: "in" },
      __approval_contexts__: { p: "in", q: "asked" },
      __pending_approval_queue__: ["q"],
      __deferred_node_queue__: ["c"],
    });
    const answers = ["yes", "yes"];
    const done = await runThread(run, { options, answers });
    expect(done.status).toBe("completed");
    expect(texts(done).filter((text) => !text.startsWith("__"))).toEqual([
      ...["c: c(work)", "b: b(in\n\nasked)"],
    ]);
    // Each worker that continues the thread finds the same state.
    for (let kept = 2; kept < done.steps.length; kept += 1) {
      const steps = done.steps.slice(0, kept);
      const again = await runThread(run, { options, steps, answers: ["yes"] });
      expect(texts(again)).toEqual(texts(done));
    }
    expect(
      Object.keys(foldRun(workflow, done).state).filter((key) => key.startsWith("__")),
    ).toEqual([]);
  });

  test("keeps the outputs and answers of nodes with any id", async () => {
    const ids = ["constructor", "toString", "hasOwnProperty", "__proto__"];
    const own = ids.map((id) => `"${id}":"of ${id}","${id}_approval":{"decision":"approve"}`);
    const state = JSON.parse(`{${own.join()},"previous_output":"work"}`) as typeof record.state;
    const given = { importedRun: { ...record, state } };
    const result = await runThread(run, { options: given });
    expect(result).toMatchObject({ status: "waiting", wait: { meta: { nodeId: "p" } } });
    const shown: Record<string, unknown> = foldRun(workflow, result).state;
    for (const id of ids.slice(0, -1)) {
      expect([Object.hasOwn(shown, id), shown[id]]).toEqual([true, `of ${id}`]);
    }
    expect(Object.getPrototypeOf(shown)).not.toEqual("of __proto__");
    expect((await runThread(run, { options: given, answers: ["yes"] })).status).toBe("completed");
  });

  test.each([
    ["it does not wait for an answer", { waitingForInput: false }],
    ["it does not wait for an answer", { status: "running" }],
    ["it has no state", { state: undefined }],
    ["it has no graph", { workflow: [] }],
    ['"a", the current node, is not an approval', { currentNodeId: "a" }],
    ["null, the current node, is not an approval", { currentNodeId: null }],
    ['two nodes have the id "s"', { workflow: { nodes: [start("s"), start("s")] } }],
  ])("is refused: %s", (message, change) => {
    expect(importProblem({ ...record, ...change })).toBe(message);
  });

  test("is accepted if it waits for an answer", () => {
    expect(importProblem(record)).toBeNull();
    expect(importProblem("half a file")).toBe("it does not wait for an answer");
  });
});
