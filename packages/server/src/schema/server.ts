import { z } from "@hono/zod-openapi";
import { number, text } from "./value.ts";

export const serverSchema = z
  .object({
    name: z.literal("uncaged-workflow"),
    version: text,
    root: text.describe("The served storage root, or the URL of the cluster."),
    project: text.nullable().describe("The folder of the project of the storage root."),
    role: z.enum(["read", "answer", "operate"]).describe("The role of the request's token."),
    startedAt: number.describe(
      "Milliseconds since the epoch; another value means that the server was restarted.",
    ),
  })
  .openapi("Server");

/** The body of every error response. `details` lists all findings, one line each, for several findings. */
export const failureSchema = z
  .object({
    error: z.object({
      code: text.openapi({ example: "THREAD_NOT_FOUND" }),
      message: text,
      hint: text.nullable(),
      details: z.array(text).optional(),
    }),
  })
  .openapi("Failure");

export type Failure = z.infer<typeof failureSchema>;
