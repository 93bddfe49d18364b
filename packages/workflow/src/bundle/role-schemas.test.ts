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
  test("names a missing role", () => {
    expect(of().violationOf(step("coder"))).toEqual({
      of: "role",
      problem: 'the role "coder" is not in the descriptor, which names "any", "object", "planner"',
    });
    for (const name of ["constructor", "toString"]) {
      expect(of().violationOf(step(name))).not.toBeNull();
    }
  });

  test("ignores the parts of a role", () => {
    expect(of().violationOf(step("planner/Set_A", { files: 1 }))).toBeNull();
    expect(of().violationOf(step("coder/Set_A"))).not.toBeNull();
  });

  test("names the path in the schema that the meta breaks", async () => {
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

  test("does not compile schemas that accept everything", () => {
    expect(of().violationOf(step("any", { a: 1 }))).toBeNull();
    expect(of().violationOf(step("object", { a: 1 }))).toBeNull();
  });

  test("ignores the records of helpers, and the reserved roles", async () => {
    const closed = { ...files, additionalProperties: false };
    const schemas = of({ roles: { planner: { description: "plans", schema: closed } } });
    await schemas.compile();
    const mark = { returned: "output" };
    expect(schemas.violationOf(step("planner", { files: [], __durable__: mark }))).toBeNull();
    const failure = { name: "Error", message: "no" };
    expect(schemas.violationOf(step("planner", { __durable__: { failure } }))).toBeNull();
    expect(schemas.violationOf(step("__wait__", { for: "it" }))).toBeNull();
  });

  test("is skipped for a descriptor without roles, or with strict: false", () => {
    expect(of({ roles: {} }).violationOf(step("coder"))).toBeNull();
    expect(of({ strict: false }).violationOf(step("coder"))).toBeNull();
    expect(of({ roles: {}, strict: true }).violationOf(step("coder"))).not.toBeNull();
  });

  test("does not fail where an old bundle has no roles, or a schema that does not compile", async () => {
    const odd = new RoleSchemas({ description: "x" } as Descriptor);
    expect(odd.violationOf(step("a"))).toBeNull();
    const broken = of({ roles: { a: { description: "", schema: { type: "nothing" } } } });
    await broken.compile();
    expect(broken.violationOf(step("a"))).toBeNull();
  });
});
