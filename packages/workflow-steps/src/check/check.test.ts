import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { everyType } from "../../test/every-type.ts";
import { chain, faultyDocuments, faultyRegistries, workflow } from "../../test/faulty.ts";
import { faultyExpressions, faultyFlows } from "../../test/faulty-flows.ts";
import { faultySteps } from "../../test/faulty-steps.ts";
import { Engine } from "../entry/index.ts";
import { validate } from "./check.ts";

const payloads = (document: unknown, options = {}) =>
  validate(document, options).map(({ severity, message }) => `${severity}: ${message}`);

describe.each([
  { of: "a document", faulty: faultyDocuments },
  { of: "a registry", faulty: faultyRegistries },
  { of: "a step", faulty: faultySteps },
  { of: "an expression", faulty: faultyExpressions },
  { of: "the flow", faulty: faultyFlows },
])("the check of $of", ({ faulty }) => {
  test.each(faulty)("reports $what", (one) => {
    expect(payloads(one.document)).toEqual(one.payloads);
  });
});

test("a document with every type of step and every field has no violation", () => {
  expect(payloads(everyType)).toEqual([]);
});

test("a step of a type with a caller's handler is valid and has the fields of a call", () => {
  const document = workflow(
    chain({ id: "Mail_A", in: { to: "=goal" }, out: "$x", onError: "Noop_B" }).concat({
      id: "Noop_B",
      next: "RETURN",
    }),
  );
  expect(payloads(document, { customTypes: ["Mail"] })).toEqual([]);
  expect(payloads(document)).toHaveLength(1);
});

test("all violations are reported together, each with its step and path", () => {
  const document = workflow([
    { id: "Set_A", target: "$x", value: "=$y", next: "Set_B" },
    { id: "Foo_B", next: "Set_C" },
  ]);
  expect(validate(document).map(({ stepID, path }) => ({ stepID, path }))).toEqual([
    { stepID: "Set_A", path: ["steps", 0, "next"] },
    { stepID: "Set_A", path: ["steps", 0, "value"] },
    { stepID: "Foo_B", path: ["steps", 1, "id"] },
    { stepID: "Foo_B", path: ["steps", 1, "next"] },
    { stepID: null, path: ["steps"] },
  ]);
});

test("a variable and a param may have the same name: $n and n are different", async () => {
  const registry = { params: ["n(INT) = 1"], vars: ["$n(INT) = 2", "$sum(INT)"] };
  const steps = [{ id: "Set_Sum", target: "$sum", value: "=n * 10 + $n", next: "RETURN" }];
  const document = { version: "3.18", name: "two", registry, steps };
  expect(validate(document).filter(({ severity }) => severity === "error")).toEqual([]);
  expect((await new Engine(document).execute()).snapshot().variables.$sum).toBe(12);
});

test("a step that leads only to itself is not a second entry", () => {
  const alone = { id: "Noop_A", next: "Noop_A" };
  const entry = { id: "Noop_B", next: "RETURN" };
  expect(payloads(workflow([entry, alone]))).toContain(
    "error: Noop_A: no entry leads to this step",
  );
  expect(payloads(workflow([alone]))).not.toContain("error: Noop_A: no entry leads to this step");
});

test("an unknown tool or input is an error, or a warning if the step continues after a failure", () => {
  const tools = { ReadFile: ["file_path"] };
  const of = (step: object) =>
    payloads(workflow(chain({ id: "Tool_A", ...step })), { tools }).filter((one) =>
      one.includes("Tool_A"),
    );
  expect(of({ tool: "ReedFile", input: {} })).toEqual([
    'error: Tool_A: no tool "ReedFile" found; tools: "ReadFile"',
  ]);
  expect(of({ tool: "ReedFile", input: {}, allowError: true })[0]).toStartWith("warning");
  expect(of({ tool: "ReadFile", input: { file: "a", timeout: 5 } })).toEqual([
    'error: Tool_A: the tool "ReadFile" does not accept the input "file": use "file_path"',
  ]);
  expect(of({ tool: "=goal", input: { x: 1 } })).toEqual([]);
  expect(of({ tool: "WorkflowRun", input: { workflow_path: "a.json" } })).toEqual([]);
});

test("a Subflow step without a workflow is an error", () => {
  const of = (id: string, step: object) =>
    payloads(workflow(chain({ id, ...step }))).filter((one) => one.startsWith("error"));
  const missing = "that runs a workflow needs workflow_path in its in";
  expect(of("Subflow_A", {})).toEqual([`error: Subflow_A: a Subflow ${missing}`]);
  expect(of("Subflow_A", { in: { params: {} }, input: { workflow_path: "a.json" } })).toEqual([
    `error: Subflow_A: a Subflow ${missing}`,
  ]);
  for (const step of [{ tool: "WorkflowRun", in: {} }, { toolName: "WorkflowRun" }]) {
    expect(of("Tool_A", step)).toEqual([`error: Tool_A: a Tool ${missing}`]);
  }
  expect(of("Tool_010_WorkflowRun", { in: { workflow_path: " " } })).toEqual([
    'error: Tool_010_WorkflowRun: workflow_path must be the path of a workflow, not " "',
  ]);
  expect(of("Subflow_A", { in: { workflow_path: 7 } })[0]).toContain("not 7");
  expect(of("Subflow_A", { in: { workflow_path: "=goal" } })).toEqual([]);
  expect(of("Subflow_A", { input: { workflow_path: "a.json" } })).toEqual([]);
});

test("a chat loop that a case of its Branch continues is valid", () => {
  const document = workflow([
    { id: "Noop_Start", next: "LLM_Answer" },
    { id: "LLM_Answer", in: { prompt: "=goal" }, next: "Branch_Bye" },
    {
      id: "Branch_Bye",
      cases: [
        ["$x", "Stop_End"],
        ["ELSE", "LLM_Answer"],
      ],
      next: "RETURN",
    },
    { id: "Stop_End" },
  ]);
  expect(payloads(document)).toEqual([
    'warning: LLM_Answer: it leads back to itself through "Branch_Bye": only the limit on rounds ends this cycle',
  ]);
});

describe("any JSON", () => {
  const json = fc.jsonValue({ maxDepth: 3 });
  const names = [
    ...["id", "type", "if", "in", "input", "out", "next", "children", "cases", "source", "while"],
    ...["mode", "maxIterations", "target", "value", "timeout", "onError", "model", "tool", "meta"],
  ];
  const id = fc.constantFrom("Set_A", "Loop_B", "Branch_C", "LLM_D", "Pause_E", "Foo_F", "", "__x");
  const field = fc.oneof(json, id, fc.array(id), fc.array(fc.tuple(fc.constant("$x"), id)));
  const step = fc
    .tuple(id, fc.dictionary(fc.constantFrom(...names), field))
    .map(([own, fields]): unknown => ({ id: own, ...fields }));
  const document = fc
    .record({ registry: json, steps: fc.array(fc.oneof(step, json)), more: fc.object() })
    .map(({ more, ...rest }): unknown => ({ version: "3.1", name: "n", ...more, ...rest }));

  test("is checked without an exception, and each violation starts with its step's id", () => {
    fc.assert(
      fc.property(fc.oneof(document, json), (value) => {
        for (const { stepID, message } of validate(value)) {
          expect(message).not.toMatch(/[\r\n\u2028\u2029]/);
          if (stepID !== null) expect(message).toStartWith(`${stepID}: `);
        }
      }),
      { numRuns: 500 },
    );
  });

  test("is checked even if it is nested 10,000 levels deep or cyclic", () => {
    let deep: unknown = "=$y";
    for (let level = 0; level < 10_000; level += 1) deep = { a: deep };
    expect(payloads(workflow(chain({ id: "LLM_A", in: { deep } })))).toEqual([
      "error: LLM_A: in is nested more than 1000 deep",
    ]);
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    expect(payloads(workflow(chain({ id: "LLM_A", in: cyclic })))).toEqual([]);
  });
});

describe("10,000 steps", () => {
  const count = 10_000;
  const ids = Array.from({ length: count }, (_, index) => `Set_${index}`);
  const sets = (next: (index: number) => string) =>
    ids.map((id, index) => ({ id, target: "$x", value: "=$x + 1", next: next(index) }));

  test.each([
    ["in a row", sets((index) => ids[index + 1] ?? "Stop_End").concat({ id: "Stop_End" } as never)],
    ["as children", [{ id: "Fork_A", children: ids, next: "RETURN" }, ...sets(() => "RETURN")]],
    ["without connections", sets(() => "RETURN")],
    [
      "in nested loops",
      ids.map((id, index) => ({
        id: `Loop_${id}`,
        source: "=$x",
        children: index + 1 < count ? [`Loop_${ids[index + 1]}`] : [],
        next: "RETURN",
      })),
    ],
  ])("%s are checked without a stack overflow", (_, steps) => {
    const violations = validate(workflow(steps));
    expect(violations.length).toBeLessThan(5);
  });
});
