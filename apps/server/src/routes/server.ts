import { createRoute } from "@hono/zod-openapi";
import { serverShape } from "../shape/server.ts";
import { answers, routes } from "./answers.ts";
import type { Context } from "./context.ts";

const about = createRoute({
  method: "get",
  path: "/server",
  tags: ["Server"],
  summary: "Which server this is, and since when",
  responses: answers("The server.", serverShape),
});

/** The route that tells of the server itself. */
export function serverRoutes({ version, startedAt }: Context) {
  return routes().openapi(about, (c) =>
    c.json({ name: "uncaged-workflow" as const, version, startedAt }, 200),
  );
}
