import { expect, test } from "bun:test";
import { propertiesOf } from "./roles.tsx";

test("a schema's fields are listed with short types", () => {
  const schema = {
    required: ["verdict"],
    properties: {
      verdict: { enum: ["pass", "fail"], description: "how it went" },
      files: { type: "array", items: { type: "string" } },
      tries: { type: ["integer", "null"] },
      either: { anyOf: [{ type: "boolean" }, { $ref: "#/$defs/Case" }] },
      any: true,
    },
  };
  expect(propertiesOf(schema)).toEqual([
    {
      name: "verdict",
      type: 'one of "pass", "fail"',
      isRequired: true,
      description: "how it went",
    },
    { name: "files", type: "array", isRequired: false, description: null },
    { name: "tries", type: "integer or null", isRequired: false, description: null },
    { name: "either", type: "any", isRequired: false, description: null },
    { name: "any", type: "any", isRequired: false, description: null },
  ]);
});

test("a schema without fields has no rows", () => {
  expect([true, null, { type: "string" }, []].map(propertiesOf)).toEqual([[], [], [], []]);
});
