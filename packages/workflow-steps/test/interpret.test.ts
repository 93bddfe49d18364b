import { expect, test } from "bun:test";
import { type Commit, fold, interpret, type WorkflowDocument } from "../src/entry/index.ts";

const document: WorkflowDocument = {
  version: "3.18",
  name: "Sum",
  registry: { params: ["n(INT)"], vars: ["$sum(INT) = 0", "$answer(STRING)"] },
  steps: [
    { id: "Set_Sum", target: "$sum", value: "=$sum + n", next: "Pause_Ask" },
    { id: "Pause_Ask", resumeResultTarget: "$answer", next: "Stop_End" },
    { id: "Stop_End", reason: "=$answer" },
  ],
};

test("a custom driver keeps commits, answers questions and gets the result", async () => {
  const run = interpret(document, { params: { n: 3 } }, {}, { runID: "own" });
  const kept: { role: string; content: string; meta: Commit }[] = [];
  let answer: Parameters<typeof run.next>[0];
  for (;;) {
    const { done, value } = await run.next(answer);
    answer = undefined;
    if (done) {
      expect(value).toEqual({ status: "stopped", stopID: "Stop_End", reason: "yes" });
      break;
    }
    if (value.kind === "commit") kept.push({ role: value.role, content: "", meta: value.commit });
    if (value.kind === "wait") answer = { payload: "yes", timedOut: false };
  }
  expect(kept.map(({ role }) => role)).toEqual(["Set_Sum", "Pause_Ask", "Stop_End"]);
  const thread = { threadId: "own", prompt: "", params: { n: 3 }, steps: kept };
  expect(fold(document, thread).variables).toEqual({ $sum: 3, $answer: "yes" });
});

test("a custom driver continues from a checkpoint, under its id", async () => {
  const from = { currentStepID: "Stop_End", workflowID: "wf_7", variables: { $answer: "no" } };
  const ids = new Set<string | undefined>();
  const types: string[] = [];
  for await (const { event } of interpret(document, from)) {
    ids.add(event?.runID);
    types.push(event?.type ?? "");
  }
  expect([...ids]).toEqual(["wf_7"]);
  expect(types).toEqual(["workflow_start", "step_start", "step_done", "workflow_done"]);
});

test("wrong params are refused before any event", () => {
  expect(() => interpret(document, { params: {} })).toThrow("n (INT) is missing");
});
