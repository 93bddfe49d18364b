import { describe, expect, test } from "bun:test";
import type { Descriptor, RoleOutput } from "../contract/contract.ts";
import { RoleSchemas } from "./role-schemas.ts";

const files = { type: "object", required: ["files"], properties: { files: { type: "array" } } };
const roles: Descriptor["roles"] = {
  any: { description: "any", schema: true },
  object: { description: "an object", schema: { type: "object", title: "It" } },
  planner: { description: "plans", schema: files },
};
const of = (more: Partial<Descriptor> = {}) =>
  new RoleSchemas({ description: "x", roles, ...more });
const step = (role: string, meta: RoleOutput["meta"] = {}): RoleOutput => ({
  role,
  content: "",
  meta,
});

describe("the check of a step against the descriptor", () => {
  test("names a role that is not in the descriptor, even if it has the name of an inherited property", () => {
    expect(of().violationOf(step("coder"))).toEqual({
      of: "role",
      problem: 'the role "coder" is not in the descriptor, which names "any", "object", "planner"',
    });
    for (const name of ["constructor", "toString"]) {
      expect(of().violationOf(step(name))).not.toBeNull();
    }
  });

  test("ignores the parts of a role in the descriptor", () => {
    expect(of().violationOf(step("planner/Set_A", { files: 1 }))).toBeNull();
    expect(of().violationOf(step("coder/Set_A"))).not.toBeNull();
  });

  test("needs compiled schemas, and names the violated keyword's path in the schema", async () => {
    const schemas = of();
    expect(schemas.violationOf(step("planner", { files: 1 }))).toBeUndefined();
    await schemas.compile();
    expect(schemas.violationOf(step("planner", { files: 1 }))).toEqual({
      of: "meta",
      problem:
        'the role "planner": meta/files must be array (descriptor.roles.planner.schema#/properties/files/type)',
    });
    expect(schemas.violationOf(step("planner", { files: [] }))).toBeNull();
  });

  test("does not need compiled schemas for roles whose schemas accept every object", () => {
    expect(of().violationOf(step("any", { a: 1 }))).toBeNull();
    expect(of().violationOf(step("object", { a: 1 }))).toBeNull();
  });

  test("ignores data of durable helpers, failed durable steps, and reserved roles", async () => {
    const closed = { ...files, additionalProperties: false };
    const schemas = of({ roles: { planner: { description: "plans", schema: closed } } });
    await schemas.compile();
    const mark = { returned: "output" };
    expect(schemas.violationOf(step("planner", { files: [], __durable__: mark }))).toBeNull();
    const failure = { name: "Error", message: "no" };
    expect(schemas.violationOf(step("planner", { __durable__: { failure } }))).toBeNull();
    expect(schemas.violationOf(step("__wait__", { for: "it" }))).toBeNull();
  });

  test("is skipped with strict: false, or without roles and strict: true", () => {
    expect(of({ roles: {} }).violationOf(step("coder"))).toBeNull();
    expect(of({ strict: false }).violationOf(step("coder"))).toBeNull();
    expect(of({ roles: {}, strict: true }).violationOf(step("coder"))).not.toBeNull();
  });

  test("accepts steps of a bundle without roles, or with a schema that does not compile", async () => {
    const odd = new RoleSchemas({ description: "x" } as Descriptor);
    expect(odd.violationOf(step("a"))).toBeNull();
    const broken = of({ roles: { a: { description: "", schema: { type: "nothing" } } } });
    await broken.compile();
    expect(broken.violationOf(step("a"))).toBeNull();
  });
});
