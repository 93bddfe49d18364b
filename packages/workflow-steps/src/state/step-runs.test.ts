import { expect, test } from "bun:test";
import { type LoggedStep, stepRun } from "./step-runs.ts";

const stepsBefore = (...of: Parameters<typeof stepRun>): number | null =>
  stepRun(...of)?.before ?? null;

/** Returns a commit of a step. `path` lists the enclosing constructs, each with its child. */
const commit = (role: string, path: object[] = [], phase = "done"): LoggedStep => ({
  role,
  meta: { path, phase },
});
const iteration = (number: number) => ({ in: "Loop_A", child: "Set_B", iteration: number });

test("stepRun returns a step's last run, or the requested run", () => {
  const log = [commit("Set_A"), commit("LLM_B"), commit("Set_A"), commit("Set_C")];
  expect(stepsBefore(log, "Set_A")).toBe(2);
  expect(stepsBefore(log, "Set_A", 1)).toBe(0);
  expect(stepsBefore(log, "LLM_B")).toBe(1);
  expect(stepsBefore(log, "Set_A", 3)).toBeNull();
});

test("a run of a step with children begins with the first commit inside it", () => {
  const log = [
    commit("Set_A"),
    commit("Set_B", [iteration(0)]),
    commit("Set_B", [iteration(1)]),
    commit("Loop_A"),
    commit("Fork_C", [], "body"),
    commit("Set_D", [{ in: "Fork_C", child: "Set_D" }]),
    commit("Fork_C"),
  ];
  expect(stepsBefore(log, "Loop_A")).toBe(1);
  expect(stepsBefore(log, "Set_B")).toBe(2);
  expect(stepsBefore(log, "Fork_C")).toBe(4);
});

test("each run of a nested construct is a separate run", () => {
  const inner = (number: number) => [
    commit("Set_D", [iteration(number), { in: "Fork_C", child: "Set_D" }]),
    commit("Fork_C", [iteration(number)]),
  ];
  const log = [...inner(0), ...inner(1), commit("Loop_A")];
  expect(stepsBefore(log, "Fork_C")).toBe(2);
  expect(stepsBefore(log, "Fork_C", 1)).toBe(0);
  expect(stepsBefore(log, "Loop_A")).toBe(0);
});

test("an unfinished run is the last run", () => {
  const log = [commit("Set_B", [iteration(0)]), commit("Loop_A"), commit("Set_B", [iteration(0)])];
  expect(stepsBefore(log, "Loop_A")).toBe(2);
});

test("a run of a Pause begins with its question", () => {
  const question = { role: "__wait__", meta: { for: "pause", stepID: "Pause_A" } };
  const answer = { role: "__input__", meta: { for: "pause" } };
  expect(stepsBefore([commit("Set_A"), question], "Pause_A")).toBe(1);
  expect(stepsBefore([commit("Set_A"), question, answer, commit("Pause_A")], "Pause_A")).toBe(1);
  expect(stepsBefore([commit("Set_A"), question], "Set_Z")).toBe(1);
});

test("a step that has not run begins after all others", () => {
  expect(stepsBefore([commit("Set_A"), commit("Set_B")], "LLM_C")).toBe(2);
  expect(stepsBefore([], "LLM_C")).toBe(0);
});

test("a child workflow's step of the same name is a different step", () => {
  const child = [{ in: "Subflow_A", run: "r1" }];
  const log = [
    commit("Set_A"),
    commit("Subflow_A/Set_A", child),
    commit("Subflow_A/Set_B", [...child, { in: "Set_A", child: "Set_B" }]),
    commit("Subflow_A"),
  ];
  expect(stepsBefore(log, "Set_A")).toBe(0);
  expect(stepsBefore(log, "Subflow_A")).toBe(1);
});
