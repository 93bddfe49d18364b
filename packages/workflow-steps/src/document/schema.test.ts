import { describe, expect, test } from "bun:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import published from "../../schema/workflow.schema.json";
import { everyType } from "../../test/every-type.ts";
import { faultyDocuments, faultyRegistries } from "../../test/faulty.ts";
import { faultyExpressions, faultyFlows } from "../../test/faulty-flows.ts";
import { faultySteps } from "../../test/faulty-steps.ts";
import { validate } from "../check/check.ts";
import { texts, workflowSchema } from "./schema.ts";

const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false });
const fits = ajv.compile(published);
const isValid = (document: unknown) =>
  validate(document, { customTypes: ["Mail"] }).every(({ severity }) => severity !== "error");

/** Returns a document as parsed JSON. */
const json = (document: unknown): unknown => JSON.parse(JSON.stringify(document));

test("the published schema matches the checker's table", () => {
  const hint = "bun scripts/schema.ts && bun run format";
  const made = { hint, schema: json(workflowSchema()) };
  expect(made).toEqual({ hint, schema: published });
});

test("a document with every type of step and every field matches the schema", () => {
  expect(fits(json(everyType)) ? null : fits.errors).toBeNull();
});

describe("the schema", () => {
  const all = [faultyDocuments, faultyRegistries, faultySteps, faultyExpressions, faultyFlows];

  test.each(all.flat().filter(({ inSchema }) => inSchema))("refuses $what", ({ document }) => {
    expect(fits(json(document))).toBe(false);
  });

  test.each(all.flat().filter(({ inSchema }) => !inSchema))(
    "accepts $what, which only the checker reports",
    ({ document }) => {
      expect(fits(json(document)) ? null : fits.errors).toBeNull();
    },
  );

  test("accepts every document that `validate` accepts", () => {
    let accepted = 0;
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
        const document = changes.reduce(changed, json(everyType));
        if (!isValid(document)) return;
        accepted += 1;
        expect(fits(document) ? null : fits.errors).toBeNull();
      }),
      { numRuns: 400 },
    );
    expect(accepted).toBeGreaterThan(20);
  }, 30_000);
});

/** Changes to a document: set or remove a value at a random place. */
const change = fc.record({
  way: fc.array(fc.nat(60), { minLength: 1, maxLength: 5 }),
  name: fc.option(fc.constantFrom(...Object.keys(texts)), { freq: 3 }),
  value: fc.oneof(
    fc.jsonValue({ maxDepth: 1 }),
    fc.constantFrom("=goal", "$n", "Set_Start", "RETURN", "BREAK", "Mail", 5, 0, -1, 1.5),
    fc.constant(undefined),
  ),
});
type Change = typeof change extends fc.Arbitrary<infer Value> ? Value : never;

function changed(document: unknown, { way, name, value }: Change): unknown {
  let at = document as Record<string, unknown>;
  for (const number of way.slice(0, -1)) {
    const inner = Object.values(at).filter((one) => typeof one === "object" && one !== null);
    if (inner.length === 0) break;
    at = inner[number % inner.length] as Record<string, unknown>;
  }
  const keys = Object.keys(at);
  const key = keys[(way.at(-1) ?? 0) % keys.length] ?? "0";
  if (Array.isArray(at)) at.splice(Number(key), 1, ...(value === undefined ? [] : [value]));
  else if (value === undefined) delete at[key];
  else at[name ?? key] = value;
  return document;
}

describe("the texts of the schema", () => {
  const said = JSON.stringify(published);

  test.each(Object.entries(texts))("describe %s", (_, text) => {
    expect(said).toContain(JSON.stringify(text));
  });

  test("cover every field", () => {
    expect(untold(published.properties, "")).toEqual([]);
    const steps = Object.entries(published.$defs).filter(([name]) => !name.startsWith("is"));
    for (const [name, { properties }] of steps as [string, { properties: object }][]) {
      expect(untold(properties, `${name}.`)).toEqual([]);
    }
  });
});

/** Returns the properties without a description, including nested properties. */
function untold(properties: object, home: string): string[] {
  return Object.entries(properties).flatMap(([name, schema]: [string, unknown]) => {
    if (typeof schema !== "object" || schema === null) return [];
    const inner = "properties" in schema ? untold(schema.properties as object, `${name}.`) : [];
    return "description" in schema ? inner : [home + name, ...inner];
  });
}
