import { expect, test } from "bun:test";
import { sendable } from "./schema.ts";

const text = { type: "string" };

test("a schema without properties gets some", () => {
  expect(sendable({ type: "object" }).schema).toEqual({ type: "object", properties: {} });
  expect(sendable({ type: ["object", "null"], properties: null }).schema).toEqual({
    type: "object",
    properties: {},
  });
});

test("alternatives at the root become one object that takes all of them", () => {
  const { schema } = sendable({
    $defs: { byId: { properties: { id: text }, required: ["id"] } },
    properties: { limit: { type: "integer" } },
    required: ["limit"],
    anyOf: [{ $ref: "#/$defs/byId" }, { properties: { name: text, at: text }, required: ["name"] }],
    additionalProperties: false,
  });
  expect(schema).toEqual({
    $defs: { byId: { properties: { id: text }, required: ["id"] } },
    type: "object",
    properties: { id: text, name: text, at: text, limit: { type: "integer" } },
    required: ["limit"],
  });
});

test("what every alternative requires is required", () => {
  const alternative = (more: string) => ({ properties: { id: text }, required: ["id", more] });
  expect(sendable({ oneOf: [alternative("a"), alternative("b")] }).schema.required).toEqual(["id"]);
  expect(sendable({ allOf: [alternative("a"), alternative("b")] }).schema.required).toEqual([
    "id",
    "a",
    "b",
  ]);
});

test("names that a provider refuses are changed, and those of the server come back", () => {
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

test("a schema that refers to itself comes to an end", () => {
  const $defs = { node: { anyOf: [{ $ref: "#/$defs/node" }, { properties: { id: text } }] } };
  expect(sendable({ $defs, $ref: "#/$defs/node" }).schema.type).toBe("object");
});
