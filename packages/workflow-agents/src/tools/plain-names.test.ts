import { expect, test } from "bun:test";
import { sendable } from "./plain-names.ts";

const text = { type: "string" };

test("a schema without properties gets an empty `properties` object", () => {
  expect(sendable({ type: "object" }).schema).toEqual({ type: "object", properties: {} });
  expect(sendable({ type: ["object", "null"], properties: null }).schema).toEqual({
    type: "object",
    properties: {},
  });
});

test("names that a provider refuses are changed, and restored in the input", () => {
  const { schema, restored } = sendable({
    properties: {
      $filter: text,
      plain: { type: "object", properties: { "é!": { enum: ["$filter"] } }, required: ["é!"] },
    },
    required: ["$filter"],
  });
  const names = Object.keys(schema.properties as object);
  expect(names.every((name) => /^[\w.-]{1,64}$/.test(name))).toBe(true);
  const [filter = ""] = names;
  expect(schema.required).toEqual([filter]);
  const { plain } = schema.properties as Record<string, { properties: object }>;
  const [inner = ""] = Object.keys(plain?.properties ?? {});
  expect(restored({ [filter]: "a", plain: { [inner]: "$filter" } })).toEqual({
    $filter: "a",
    plain: { "é!": "$filter" },
  });
});

test("names within `anyOf` are changed too", () => {
  const { schema } = sendable({ anyOf: [{ properties: { $top: text }, required: ["$top"] }] });
  const [only] = schema.anyOf as { properties: object; required: string[] }[];
  expect(Object.keys(only?.properties ?? {})).toEqual(only?.required ?? []);
  expect(only?.required).not.toContain("$top");
});
