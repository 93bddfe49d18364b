import { z } from "@hono/zod-openapi";

export const serverShape = z
  .object({
    name: z.literal("uncaged-workflow"),
    version: z.string(),
    startedAt: z.number().openapi({
      description:
        "Milliseconds since the epoch; another value means that the server was restarted.",
    }),
  })
  .openapi("Server");
