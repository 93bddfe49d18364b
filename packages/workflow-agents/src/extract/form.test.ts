import { describe, expect, test } from "bun:test";
import { isWorkflowError } from "@uncaged/workflow";
import { z } from "zod";
import * as mini from "zod/mini";
import { formOf } from "./form.ts";

const refusal = (make: () => unknown): string => {
  try {
    make();
    return "not refused";
  } catch (error) {
    return isWorkflowError(error) ? `${error.code}: ${error.message}` : String(error);
  }
};

describe("a form", () => {
  test("reports every problem with its path", async () => {
    const form = formOf(z.object({ files: z.array(z.object({ path: z.string() })), n: z.int() }));
    expect(await form.check({ files: [{ path: 1 }], n: 1.5 })).toEqual({
      ok: false,
      problems: [
        "files[0].path: Invalid input: expected string, received number",
        "n: Invalid input: expected int, received number",
      ],
    });
  });

  test("fills in defaults and drops fields only if the author's schema does", async () => {
    const form = formOf(z.object({ a: z.string(), b: z.number().default(7) }));
    expect(await form.check({ a: "x", c: 1 })).toEqual({ ok: true, value: { a: "x", b: 7 } });
    expect((await form.check({ a: 1 })).ok).toBe(false);
    expect((await formOf(z.strictObject({})).check({ c: 1 })).ok).toBe(false);
    expect(await formOf(z.looseObject({})).check({ c: 1 })).toEqual({ ok: true, value: { c: 1 } });
  });

  test("accepts a schema of Zod mini", async () => {
    const form = formOf(mini.object({ a: mini.optional(mini.string()) }));
    expect(form.schema).toMatchObject({ type: "object", properties: { a: { type: "string" } } });
    expect((await form.check({ a: 1 })).ok).toBe(false);
  });

  test("the JSON Schema of a recursive schema refers to that schema and not to its wrapper", () => {
    const tree: z.ZodObject = z.object({
      name: z.string(),
      get children() {
        return z.array(tree);
      },
    });
    const { schema, readingSchema } = formOf(tree);
    const text = JSON.stringify(schema);
    expect(text).not.toContain('"$ref":"#"');
    expect(schema).toMatchObject({ type: "object", properties: { name: { type: "string" } } });
    expect(JSON.stringify(readingSchema())).toContain("missing");
  });

  test("a schema without fields is empty, unless it allows unknown fields", () => {
    expect(formOf(z.object({})).empty).toBe(true);
    expect(formOf(z.strictObject({})).empty).toBe(true);
    expect(formOf(z.looseObject({})).empty).toBe(false);
    expect(formOf(z.object({ a: z.optional(z.string()) })).empty).toBe(false);
  });

  test("refuses reserved keys, even when the schema allows unknown fields", async () => {
    const form = formOf(z.looseObject({}), ["usage"]);
    expect(await form.check({ usage: 1 })).toEqual({
      ok: false,
      problems: ["usage: is a reserved key"],
    });
  });

  test("refuses values that JSON cannot represent, and schemas of other types than objects", () => {
    expect(refusal(() => formOf(z.object({ at: z.date() })))).toStartWith("BAD_SCHEMA: ");
    expect(refusal(() => formOf(z.object({ n: z.string().transform(Number) })))).toStartWith(
      "BAD_SCHEMA: ",
    );
    for (const other of [z.string(), undefined, null, {}]) {
      expect(refusal(() => formOf(other as z.ZodObject))).toStartWith("BAD_SCHEMA: ");
    }
  });

  test("allows preprocessing before the check", async () => {
    const trimmed = z.preprocess((v) => (typeof v === "string" ? v.trim() : v), z.string().min(1));
    const form = formOf(z.object({ a: trimmed }));
    expect(await form.check({ a: " x " })).toEqual({ ok: true, value: { a: "x" } });
    expect(form.readingSchema()).toMatchObject({ type: "object" });
  });
});
