import { describe, expect, test } from "bun:test";
import { formatJson, readJson, readObject } from "./json.ts";
import { answerOf, fieldsOf } from "./schema.ts";

const schema = {
  type: "object",
  required: ["repository", "depth"],
  properties: {
    repository: { type: "string", title: "Repository", description: "Where to look" },
    depth: { type: "integer", default: 2 },
    mode: { enum: ["fast", "deep"], default: "fast" },
    draft: { type: ["boolean", "null"] },
    tags: { type: "array", items: { type: "string" } },
  },
};

describe("the form of a schema", () => {
  test("has a control for each property, with its label, its hint and its default", () => {
    const fields = fieldsOf(schema);
    expect(fields.map(({ name, kind }) => [name, kind])).toEqual([
      ["repository", "text"],
      ["depth", "integer"],
      ["mode", "choice"],
      ["draft", "boolean"],
      ["tags", "json"],
    ]);
    expect(fields[0]).toMatchObject({
      label: "Repository",
      hint: "Where to look",
      isRequired: true,
    });
    expect(fields.map(({ draft }) => draft)).toEqual(["", "2", '"fast"', false, ""]);
  });

  test("offers the choices of an enum, and treats nullable values by their own control", () => {
    const maybe = { anyOf: [{ type: "string" }, { type: "null" }] };
    const fields = fieldsOf({
      required: ["name", "count"],
      properties: {
        color: { oneOf: [{ const: "red" }, { const: "blue" }] },
        name: maybe,
        nick: maybe,
        count: { type: ["integer", "null"], default: null },
        spot: { enum: [{ at: 1 }], default: { at: 1 } },
        any: { anyOf: [{ type: "string" }, { type: "integer" }] },
      },
    });
    expect(fields.map(({ name, kind }) => [name, kind])).toEqual([
      ["color", "choice"],
      ["name", "text"],
      ["nick", "text"],
      ["count", "integer"],
      ["spot", "choice"],
      ["any", "json"],
    ]);
    expect(fields[0]?.choices).toEqual(["red", "blue"]);
    expect(answerOf(fields, {})).toEqual({
      value: { name: null, count: null, spot: { at: 1 } },
      problems: {},
    });
  });

  test("has fields with any name, including names of Object.prototype's properties", () => {
    const names = ["constructor", "toString", "__proto__"];
    const fields = names.map((name) =>
      fieldsOf({ type: "string" }).map((one) => ({ ...one, name })),
    );
    expect(Object.keys(answerOf(fields.flat(), {}).problems)).toEqual(names);
  });

  test("of a value other than an object has one control", () => {
    expect(fieldsOf({ type: "string" })).toMatchObject([{ name: "", kind: "text" }]);
    expect(fieldsOf(true)).toMatchObject([{ name: "", kind: "json" }]);
  });
});

describe("a filled form", () => {
  test("gives the value without empty fields", () => {
    const fields = fieldsOf(schema);
    const drafts = { repository: "a/b", mode: '"deep"' };
    expect(answerOf(fields, drafts)).toEqual({
      value: { repository: "a/b", depth: 2, mode: "deep", draft: false },
      problems: {},
    });
  });

  test("reports problems by field", () => {
    const fields = fieldsOf(schema);
    const drafts = { repository: " ", depth: "2.5", tags: '["a",]' };
    expect(answerOf(fields, drafts).problems).toMatchObject({
      repository: "This must be filled in.",
      depth: "This must be a whole number.",
      tags: expect.stringContaining("Invalid JSON"),
    });
  });

  test("of one control gives its value itself", () => {
    const fields = fieldsOf({ type: "number" });
    expect(answerOf(fields, { "": "3" }).value).toBe(3);
  });
});

describe("a value as JSON", () => {
  test("has several lines, unless it is short or deeply nested", () => {
    const deep = "[".repeat(200) + "]".repeat(200);
    expect(formatJson({ a: "[[[" })).toBe('{\n  "a": "[[["\n}');
    expect(formatJson({ a: 1 }, 20)).toBe('{"a":1}');
    expect(formatJson(JSON.parse(deep))).toBe(deep);
    expect(formatJson("[".repeat(200))?.length).toBe(202);
  });
});

describe("a text that should be JSON", () => {
  test("is parsed", () => {
    expect(readJson('{"a": 1}')).toEqual({ value: { a: 1 }, problem: null });
  });

  test("can be required to be an object", () => {
    expect(readObject("[1]").problem).toContain("must be an object");
  });

  test("reports an empty text", () => {
    expect(readJson(" ").problem).toContain("Empty");
  });
});
