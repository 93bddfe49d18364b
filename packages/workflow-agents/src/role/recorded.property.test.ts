import { expect, test } from "bun:test";
import { createRoleModerator, END } from "@uncaged/workflow";
import { runThread } from "@uncaged/workflow/testing";
import fc from "fast-check";
import { z } from "zod";
import { compileSchema } from "../../../workflow/src/bundle/schema.ts";
import type { Extractor } from "../extract/extract.ts";
import { role } from "./role.ts";

type Field = z.ZodType;

// A bundle with this key in its descriptor is refused.
const isAllowed = (key: string): boolean => key !== "__proto__";

/** Generates typical schemas with arbitrary names. */
const field: fc.Arbitrary<Field> = fc.letrec<{ field: Field }>((tie) => ({
  field: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom<Field[]>(
      z.string(),
      z.string().min(2),
      z.int(),
      z.number().positive(),
      z.boolean(),
      z.null(),
      z.enum(["low", "high"]),
      z.string().default("by the author"),
      z.string().trim(),
      z.unknown(),
    ),
    tie("field").map((of) => z.array(of)),
    tie("field").map((of) => of.optional()),
    tie("field").map((of) => of.nullable()),
    tie("field").map((of) => z.record(z.string(), of)),
    fc.tuple(tie("field"), tie("field")).map((two) => z.union(two)),
    fc
      .dictionary(fc.string().filter(isAllowed), tie("field"), { maxKeys: 3 })
      .map((shape) => z.object(shape)),
  ),
})).field;

const name = fc.oneof(fc.constantFrom("files", "__proto__", "a b", "0"), fc.string());
const taken = ["usage", "model", "cost", "models", "agent"];
const shape = fc.dictionary(
  name.filter((key) => isAllowed(key) && !taken.includes(key)),
  field,
  { maxKeys: 4 },
);
const schema = fc
  .tuple(shape, fc.constantFrom("strip", "strict", "loose"))
  .map(([fields, unknown]) => {
    if (unknown === "strict") return z.strictObject(fields);
    return unknown === "loose" ? z.looseObject(fields) : z.object(fields);
  });

const json = fc.jsonValue({ maxDepth: 3 });
const likely = fc.dictionary(fc.oneof(name, fc.constantFrom(...taken)), json);
const text = fc.oneof(
  fc.string(),
  json.map((value) => JSON.stringify(value)),
  likely.map((value) => `So:\n\`\`\`json\n${JSON.stringify(value)}\n\`\`\``),
);
const reading = fc.oneof(json, fc.record({ missing: fc.array(fc.string()), fields: likely }));

test("the recorded meta fits the role's schema for any answer of the agent and the extractor", async () => {
  let completed = 0;
  let failed = 0;
  const property = fc.asyncProperty(
    schema,
    text,
    fc.option(fc.array(reading, { minLength: 1, maxLength: 3 })),
    async (zod, said, readings) => {
      let at = 0;
      const extract: Extractor = async () => readings?.[at++ % readings.length];
      const agent = async () => said;
      const one = role({
        description: "x",
        systemPrompt: "",
        agent,
        schema: zod,
        ...(readings && { extract }),
      });
      const run = createRoleModerator({
        roles: { one },
        moderator: ({ steps }) => (steps.length === 0 ? "one" : END),
      });
      const outcome = await runThread(run);
      if (outcome.status === "failed" && outcome.reason === "failed") {
        failed += 1;
        expect(outcome.error).toMatchObject({ kept: { role: "one", raw: said } });
        expect((outcome.error as { code: string }).code).toBeOneOf([
          "EXTRACTION_FAILED",
          "EMPTY_ANSWER",
        ]);
        return;
      }
      completed += 1;
      const step = outcome.steps[0];
      expect(step?.content).toBe(said);
      const compiled = await compileSchema(one.descriptor.schema);
      if (!("validate" in compiled)) throw new Error(compiled.message);
      expect(compiled.validate(step?.meta)).toBeNull();
      const { usage: _u, model: _m, cost: _c, ...fields } = step?.meta ?? {};
      expect(zod.safeParse(fields).success).toBe(true);
    },
  );
  const leftOut = z.object({ files: z.union([z.unknown(), z.string().default("by the author")]) });
  await fc.assert(property, { numRuns: 400, examples: [[leftOut, "{}", null]] });
  expect(completed).toBeGreaterThan(20);
  expect(failed).toBeGreaterThan(20);
});
