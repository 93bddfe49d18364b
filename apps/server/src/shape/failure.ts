import { z } from "@hono/zod-openapi";

/** How every refusal looks. `details` holds all findings, a line each, when there are several. */
export const failureShape = z
  .object({
    error: z.object({
      code: z.string().openapi({ example: "THREAD_NOT_FOUND" }),
      message: z.string(),
      hint: z.string().nullable(),
      details: z.array(z.string()).optional(),
    }),
  })
  .openapi("Failure");

export type Failure = z.infer<typeof failureShape>;
