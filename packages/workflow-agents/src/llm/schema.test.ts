import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { z } from "zod";
import { compileSchema } from "../../../workflow/src/bundle/schema.ts";
import { anthropicForms } from "../anthropic/form.ts";
import { formOf } from "../extract/form.ts";
import { openaiForms } from "../openai/form.ts";
import { strictSchema, withoutNulls } from "./schema.ts";

const openai = openaiForms(true).rules;
const anthropic = anthropicForms.rules;
const schemaOf = (zod: z.ZodObject): object => formOf(zod).schema;

describe("the strict schema of a provider's mode", () => {
  test("requires all properties for OpenAI, so that null means an omitted property", () => {
    const given = schemaOf(z.object({ a: z.string().optional(), b: z.number().nullish() }));
    const strict = strictSchema(given, openai);
    expect(strict).toMatchObject({
      required: ["a", "b"],
      additionalProperties: false,
      properties: { a: { anyOf: [{ type: "string" }, { type: "null" }] } },
    });
    expect(withoutNulls({ a: null, b: null }, given)).toEqual({ b: null });
    expect(strictSchema(given, anthropic)).toMatchObject({ required: [] });
  });

  test("describes rules that the mode does not enforce in descriptions", () => {
    const given = schemaOf(
      z.object({ a: z.string().min(3).describe("A name."), n: z.int().max(9) }),
    );
    const words = (strict: object | null) => JSON.stringify(strict);
    expect(words(strictSchema(given, anthropic))).toContain("A name.\\n{minLength: 3}");
    expect(strictSchema(given, anthropic)).not.toHaveProperty("properties.n.maximum");
    expect(strictSchema(given, openai)).toHaveProperty("properties.n.maximum", 9);
  });

  const tree: z.ZodType = z.object({
    name: z.string(),
    get parts() {
      return z.array(tree);
    },
  });
  const lost: Record<string, z.ZodObject> = {
    "arbitrary keys": z.object({ a: z.record(z.string(), z.number()) }),
    "fields with any value": z.object({ a: z.unknown() }),
    "unknown keys": z.looseObject({ a: z.string() }),
    tuples: z.object({ a: z.tuple([z.string(), z.number()]) }),
  };
  test.each(Object.entries(lost))("is null if the mode cannot express %s", (_, zod) => {
    for (const rules of [openai, anthropic]) expect(strictSchema(schemaOf(zod), rules)).toBeNull();
  });

  test("may be recursive for OpenAI, and is null for a recursive schema for Anthropic", () => {
    const given = schemaOf(z.object({ tree }));
    expect(strictSchema(given, openai)).not.toBeNull();
    expect(strictSchema(given, anthropic)).toBeNull();
  });

  test("is null if the schema is too large, or has a dangling reference", () => {
    const shape = Object.fromEntries(
      [...Array(25).keys()].map((n) => [`f${n}`, z.string().optional()]),
    );
    expect(strictSchema(schemaOf(z.object(shape)), anthropic)).toBeNull();
    const deep = [...Array(11)].reduce<z.ZodType>((of) => z.object({ of }), z.string());
    expect(strictSchema(schemaOf(z.object({ deep })), openai)).toBeNull();
    const loop = { a: { anyOf: [{ $ref: "#/$defs/a" }] } };
    const both = { type: "object", properties: { a: { allOf: [{ type: "string" }] } } };
    expect(strictSchema(both, openai)).toBeNull();
    for (const $ref of ["#/$defs/a", "#/$defs/none", "https://example.com/a.json", 7]) {
      const given = { type: "object", properties: { a: { $ref } }, $defs: loop };
      for (const rules of [openai, anthropic]) expect(strictSchema(given, rules)).toBeNull();
    }
  });
});

/** A schema, a value of the schema, and the same value as a mode with only required properties returns it. */
type Pair = { zod: z.ZodType; value: unknown; strict: unknown };

const same = (zod: z.ZodType, value: unknown): Pair => ({ zod, value, strict: value });
const pair: fc.Arbitrary<Pair> = fc.letrec<{ pair: Pair; object: Pair }>((tie) => ({
  pair: fc.oneof(
    { depthSize: "small" },
    fc.string().map((text) => same(z.string(), text)),
    fc.integer({ min: -99, max: 99 }).map((n) => same(z.int(), n)),
    fc.boolean().map((is) => same(z.boolean(), is)),
    fc.constant(same(z.null(), null)),
    fc.constantFrom("low", "high").map((one) => same(z.enum(["low", "high"]), one)),
    tie("pair").map(({ zod, value, strict }) => ({
      ...{ zod: z.array(zod), value: [value, value], strict: [strict, strict] },
    })),
    fc
      .tuple(tie("pair"), fc.boolean())
      .map(([one, isNull]) =>
        isNull ? same(one.zod.nullable(), null) : { ...one, zod: one.zod.nullable() },
      ),
    // Generates a union whose branches differ in a constant.
    fc.tuple(tie("object"), tie("object"), fc.boolean()).map(([a, b, isFirst]) => {
      const branch = (kind: string, { zod }: Pair) => z.object({ kind: z.literal(kind), of: zod });
      const zod = z.union([branch("a", a), branch("b", b)]);
      const kind = isFirst ? "a" : "b";
      const { value, strict } = isFirst ? a : b;
      return { zod, value: { kind, of: value }, strict: { kind, of: strict } };
    }),
    tie("object"),
  ),
  object: fc
    .dictionary(
      fc
        .oneof(fc.constantFrom("files", "a b", "$ref"), fc.string({ maxLength: 5 }))
        .filter((key) => key !== "__proto__"),
      fc.record({ one: tie("pair"), how: fc.constantFrom("there", "optional", "left out") }),
      { maxKeys: 3 },
    )
    .map((parts) => {
      const all = Object.entries(parts);
      const from = <T>(entries: (readonly [string, T])[]) =>
        Object.fromEntries(entries) as Record<string, T>;
      return {
        zod: z.object(
          from(
            all.map(([key, { one, how }]) => [key, how === "there" ? one.zod : one.zod.optional()]),
          ),
        ),
        value: from(
          all.filter(([, { how }]) => how !== "left out").map(([key, { one }]) => [key, one.value]),
        ),
        strict: from(
          all.map(([key, { one, how }]) => [key, how === "left out" ? null : one.strict]),
        ),
      };
    }),
})).pair;

const withoutNull = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, each: unknown) => each ?? undefined) ?? "null");

test("values of any schema are unchanged after a round trip through a mode", async () => {
  let tried = 0;
  const property = fc.asyncProperty(pair, async ({ zod, value, strict }) => {
    const given = schemaOf(z.object({ root: zod }));
    const schema = strictSchema(given, { ...openai, allows: () => true });
    if (schema === null) return;
    tried += 1;
    const compiled = await compileSchema(schema);
    if (!("validate" in compiled)) throw new Error(compiled.message);
    expect(compiled.validate({ root: strict })).toBeNull();
    const back = withoutNulls({ root: strict }, given) as { root: unknown };
    // For a nullable optional property, null and omission are equivalent.
    const { root } = z.object({ root: zod }).parse(back);
    expect(withoutNull(root)).toEqual(withoutNull(value));
  });
  await fc.assert(property, { numRuns: 200 });
  expect(tried).toBeGreaterThan(100);
});
