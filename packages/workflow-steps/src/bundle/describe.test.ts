import { expect, test } from "bun:test";
import type { WorkflowDocument } from "../document/format.ts";
import { describeSteps, documentsIn } from "./describe.ts";

const document: WorkflowDocument = {
  version: "3.16",
  name: "greet",
  registry: {},
  steps: [
    { id: "Set_A", meta: { title: "Say hello" } },
    { id: "Check_B", next: "RETURN" },
  ],
};

test("a step workflow's descriptor has a role for each step and allows long runs", () => {
  expect(describeSteps({ document, subflows: {} })).toMatchObject({
    description: "greet",
    maxRounds: 100_000,
    stepWorkflow: { name: "greet", version: "3.16" },
    roles: {
      Set_A: { description: "Say hello", schema: true },
      Check_B: { description: "Branch", schema: true },
    },
  });
});

test("a descriptor has the schema of the params", () => {
  const params = ["who(STRING)", "n(INT) = 3", "list([STRING])", "any(Thing)"];
  const { input } = describeSteps({
    document: { ...document, registry: { params } },
    subflows: {},
  });
  expect(input).toEqual({
    type: "object",
    properties: {
      who: { type: "string" },
      n: { type: "integer", default: 3 },
      list: { type: "array", items: { type: "string" } },
      any: {},
    },
    required: ["who", "list", "any"],
    additionalProperties: false,
  });
});

test("documentsIn returns the documents of a descriptor", () => {
  const documents = { document, subflows: { "a.json": { ...document, name: "child" } } };
  const written = JSON.parse(JSON.stringify(describeSteps(documents))) as object;
  expect(documentsIn(written)).toEqual(documents);
});

test("a descriptor omits documents over the length limit", () => {
  const long = { ...document, description: "x", note: "y".repeat(600_000) };
  const described = describeSteps({ document: long, subflows: {} });
  expect(JSON.stringify(described).length).toBeLessThan(1000);
  expect(documentsIn(described)).toEqual({ subflows: {} });
});

test("a workflow of very many steps has a descriptor within the length limit", () => {
  const title = '"'.repeat(100);
  const steps = Array.from({ length: 20_000 }, (_, n) => ({ id: `Set_${n}`, meta: { title } }));
  const described = describeSteps({ document: { ...document, steps }, subflows: {} });
  expect(described).toMatchObject({ roles: {}, stepWorkflow: { document: null } });
  const fewer = { ...document, steps: steps.slice(0, 1000), description: "x".repeat(1_000_000) };
  const whole = describeSteps({ document: fewer, subflows: {} });
  expect(Object.keys(whole.roles)).toHaveLength(1000);
  expect(documentsIn(whole)?.document).toEqual(undefined);
  expect(JSON.stringify(whole).length).toBeLessThan(1 << 20);
});

test("documentsIn returns null for another bundle's descriptor", () => {
  expect(documentsIn({ description: "x", roles: {} })).toBeNull();
  expect(documentsIn({ description: "x", roles: {}, stepWorkflow: null })).toBeNull();
});
