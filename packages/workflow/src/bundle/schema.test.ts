import { expect, test } from "bun:test";
import { compileSchema } from "./schema.ts";

test("inherited properties of a value are not validated", async () => {
  const schema = {
    type: "object",
    required: ["toString"],
    properties: { constructor: { type: "string" }, toString: { type: "integer" } },
  };
  const compiled = await compileSchema(schema, { name: "params" });
  if (!("validate" in compiled)) throw new Error(compiled.message);
  expect(compiled.validate({ toString: 1 })).toBeNull();
  expect(compiled.validate({})).toContain("must have required property 'toString'");
});
