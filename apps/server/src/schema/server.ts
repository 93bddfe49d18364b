import { z } from "@hono/zod-openapi";

export const serverSchema = z
  .object({
    name: z.literal("uncaged-workflow"),
    version: z.string(),
    startedAt: z.number().openapi({
      description:
        "Milliseconds since the epoch; another value means that the server was restarted.",
    }),
  })
  .openapi("Server");

/** How every refusal looks. `details` holds all findings, a line each, when there are several. */
export const failureSchema = z
  .object({
    error: z.object({
      code: z.string().openapi({ example: "THREAD_NOT_FOUND" }),
      message: z.string(),
      hint: z.string().nullable(),
      details: z.array(z.string()).optional(),
    }),
  })
  .openapi("Failure");

export type Failure = z.infer<typeof failureSchema>;
