import { z } from "@hono/zod-openapi";

/* Common parts of the schemas. */

export const text = z.string();
export const optionalText = text.optional();
export const number = z.number();
export const optionalNumber = number.optional();
export const stepNumber = z.int();
export const fields = z.record(text, z.unknown());
export const optionalFields = fields.optional();

export const threadId = text.openapi({ example: "01JD0Q8ZC4T9M2V6X5B7N3K1RA" });
export const hash = text.openapi({ example: "EYHPV6X8XHTCS" });
export const milliseconds = number.describe("Milliseconds since the epoch, UTC.");

/** Returns a union of a named schema and null, because a reference can't be extended in place. */
export const orNull = <Schema extends z.ZodType>(schema: Schema) => z.union([schema, z.null()]);

export const flag = z.enum(["true", "false"]).optional();

export const count = (least: number, most: number) =>
  text
    .regex(/^\d{1,15}$/, "must be a whole number")
    .transform(Number)
    .pipe(number.min(least).max(most))
    .openapi({ type: "integer", minimum: least, maximum: most });
