import { describe, expect, test } from "bun:test";
import { isWorkflowError } from "../contract/error.ts";
import { checkDescriptor, toDescriptor } from "./descriptor.ts";
import { descriptorYaml, readDescriptor } from "./descriptor-yaml.ts";

const sound = {
  description: "Fix a bug",
  roles: {
    planner: {
      description: "Plans",
      schema: {
        type: "object",
        properties: { files: { type: "array", items: { type: "string" } } },
      },
    },
  },
};
const withSchema = (schema: unknown) => ({
  description: "x",
  roles: { a: { description: "y", schema } },
});
const problem = async (value: unknown) => {
  try {
    await checkDescriptor(value);
  } catch (error) {
    if (isWorkflowError(error) && error.code === "BAD_DESCRIPTOR") return error.message;
    throw error;
  }
  return null;
};

describe("a descriptor is checked as data", () => {
  test("a valid descriptor is returned as a copy", async () => {
    const checked = await checkDescriptor(sound);
    expect(checked).toEqual(sound);
    expect(checked.roles.planner).not.toBe(sound.roles.planner);
  });

  test("unknown keys are kept, undefined keys dropped", async () => {
    const value = { ...sound, version: 2, missing: undefined };
    expect(JSON.stringify(await checkDescriptor(value))).toContain('"version":2');
    expect(await checkDescriptor(value)).not.toHaveProperty("missing");
  });

  test("a descriptor may limit the rounds of its threads to a whole number from 1 to 1000000", async () => {
    expect(await checkDescriptor({ ...sound, maxRounds: 100_000 })).toHaveProperty("maxRounds");
    for (const maxRounds of [0, 1.5, -1, 1_000_001, "5", null]) {
      expect(await problem({ ...sound, maxRounds })).toBe(
        "descriptor.maxRounds must be a whole number from 1 to 1000000",
      );
    }
  });

  class Schema {
    type = "object";
  }
  const cycle: Record<string, unknown> = { description: "x", roles: {} };
  cycle.self = cycle;
  const cases: [string, unknown, string][] = [
    ["undefined", undefined, "descriptor is undefined"],
    ["null", null, "descriptor must be an object, not null"],
    [
      "an input that is not a schema",
      { ...sound, input: "text" },
      "descriptor.input must be a JSON Schema (an object or a boolean), not a string",
    ],
    [
      "an input that does not compile",
      { ...sound, input: { type: "nothing" } },
      'descriptor.input.type must be "array", "boolean", "integer", "null", "number", "object" or "string"',
    ],
    [
      "a missing description",
      { roles: {} },
      "descriptor.description must be a string, and is missing",
    ],
    [
      "a role without a schema",
      { description: "x", roles: { a: { description: "" } } },
      "descriptor.roles.a.schema must be a JSON Schema (an object or a boolean), and is missing",
    ],
    [
      "a class instance as schema",
      withSchema(new Schema()),
      "descriptor.roles.a.schema is an instance of Schema, not a plain object",
    ],
    ["a BigInt", withSchema({ maximum: 1n }), "descriptor.roles.a.schema.maximum is a bigint"],
    ["NaN", withSchema({ enum: [1, Number.NaN] }), "descriptor.roles.a.schema.enum[1] is NaN"],
    [
      "a lone surrogate",
      withSchema({ title: "\ud800" }),
      'descriptor has a lone surrogate at "title"',
    ],
    ["__proto__", withSchema(JSON.parse('{"__proto__":1}')), "descriptor has a key __proto__"],
    ["a cycle", cycle, "descriptor.self contains itself"],
    [
      "a reserved role",
      { description: "x", roles: { __end__: withSchema(true).roles.a } },
      "descriptor.roles.__end__ is a reserved role",
    ],
    [
      "a type that JSON Schema does not know",
      withSchema({ properties: { p: { type: "text" } } }),
      'descriptor.roles.a.schema.properties.p.type must be "array", "boolean", "integer", "null", "number", "object" or "string"',
    ],
    [
      "a dangling reference",
      withSchema({ $ref: "#/$defs/x" }),
      "descriptor.roles.a.schema does not compile: can't resolve reference #/$defs/x from id #",
    ],
    [
      "an unknown draft",
      withSchema({ $schema: "http://json-schema.org/draft-04/schema#" }),
      "descriptor.roles.a.schema.$schema is not a supported draft (06, 07, 2019-09, 2020-12)",
    ],
    [
      "1 MiB of text",
      { ...sound, description: "x".repeat(1 << 20) },
      "descriptor is larger than 1 MiB",
    ],
  ];
  for (const [name, value, message] of cases) {
    test(`${name} is refused`, async () => expect(await problem(value)).toBe(message));
  }

  test("an invalid regular expression is refused", async () => {
    expect(await problem(withSchema({ pattern: "(" }))).toContain("descriptor.roles.a.schema");
  });

  test("a role's name that is blank, too long, or has a line break is refused", async () => {
    for (const name of ["", " ", "a\nb", "x".repeat(201)]) {
      const roles = { [name]: { description: "", schema: true } };
      expect(await problem({ description: "x", roles })).toContain(
        "must have a name of 1 to 200 characters",
      );
    }
  });
});

test("a deeply nested schema is refused, or accepted and unchanged by a round trip through YAML", async () => {
  for (const depth of [50, 300, 5000]) {
    let schema: object = { type: "string" };
    for (let i = 0; i < depth; i++) schema = { properties: { p: schema } };
    const message = await problem(withSchema(schema));
    if (depth <= 50) expect(message).toBeNull();
    if (message !== null) continue;
    const checked = await checkDescriptor(withSchema(schema));
    expect(readDescriptor(descriptorYaml(checked), "d.yaml")).toEqual(checked);
  }
});

describe("the schemas of each draft compile", () => {
  const schemas: Record<string, unknown> = {
    "a boolean": true,
    "no draft named": { type: ["string", "null"], items: [{ type: "string" }] },
    "draft 06": { $schema: "http://json-schema.org/draft-06/schema#", exclusiveMinimum: 1 },
    "draft 07": {
      $schema: "http://json-schema.org/draft-07/schema#",
      propertyNames: { const: "a" },
    },
    "draft 2019-09": {
      $schema: "https://json-schema.org/draft/2019-09/schema",
      $recursiveRef: "#",
    },
    "draft 2020-12": {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      prefixItems: [{ $ref: "#/$defs/a" }],
      $defs: { a: { type: "string" } },
    },
    "unknown keywords and formats": { "x-order": 1, format: "colour", discriminator: { a: 1 } },
  };
  for (const [name, schema] of Object.entries(schemas)) {
    test(name, async () => expect(await problem(withSchema(schema))).toBeNull());
  }

  test("two roles may have schemas with the same $id", async () => {
    const schema = { $id: "https://example.com/s", type: "string" };
    const role = { description: "", schema };
    expect(await problem({ description: "x", roles: { a: role, b: { ...role } } })).toBeNull();
    expect(
      await problem({
        description: "x",
        roles: { a: role, b: { ...role, schema: { ...schema } } },
      }),
    ).toBeNull();
  });
});

describe("the descriptor's YAML", () => {
  test("reads back unchanged", async () => {
    const hard = toDescriptor({
      description: "yes: no\n# not a comment\n  é \u2028 \"quoted\" 'x' \t",
      roles: {
        "12": {
          description: "null",
          schema: { const: "1e3", default: "~", enum: [1e21, -0.5, null, ""] },
        },
        "a: b": { description: "- x", schema: { $ref: "#" } },
      },
    });
    expect(readDescriptor(descriptorYaml(hard), "x.yaml")).toEqual(hard);
  });

  test("repeats a schema that two roles share, instead of using an anchor", async () => {
    const schema = { type: "string" };
    const role = { description: "", schema };
    expect(descriptorYaml({ description: "x", roles: { a: role, b: role } })).not.toContain("&");
  });

  const broken: [string, string, string][] = [
    ["invalid YAML", "description: [1\n", "x.yaml:2:1: "],
    [
      "the same key twice",
      "description: a\ndescription: b\n",
      "x.yaml:2:1: Map keys must be unique",
    ],
    ["an empty file", "", "x.yaml: descriptor must be an object, not null"],
    [
      "a description of another type",
      "description: 3\nroles: {}\n",
      "x.yaml: descriptor.description must be a string, not a number",
    ],
    [
      "a text whose aliases expand exponentially",
      `a: &a [${"x,".repeat(9)}x]\nb: &b [${"*a,".repeat(9)}*a]\nc: &c [${"*b,".repeat(9)}*b]\nd: [${"*c,".repeat(9)}*c]\n`,
      "x.yaml: Excessive alias count",
    ],
  ];
  for (const [name, text, message] of broken) {
    test(`${name} is reported with the file's name on one line`, () => {
      const error = thrownBy(() => readDescriptor(text, "x.yaml"));
      if (!isWorkflowError(error)) throw error;
      expect(error.message).toStartWith(message);
      expect(error.message).not.toContain("\n");
    });
  }
});

function thrownBy(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error;
  }
}
