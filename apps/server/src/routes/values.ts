import { createRoute, z } from "@hono/zod-openapi";
import { findThread, readValue } from "@uncaged/workflow/host";
import { idPath } from "../shape/request.ts";
import { routes, sends } from "./answers.ts";
import type { Context } from "./context.ts";

const valuePath = idPath.extend({
  at: z
    .string()
    .regex(/^\d{1,12}$/, "it is the `at` of a cut value: a whole number")
    .openapi({ description: "What stands as `at` in an event for a value that was cut." }),
});

const value = createRoute({
  method: "get",
  path: "/threads/{id}/values/{at}",
  tags: ["Events"],
  summary: "A value that was too long for its event, in full",
  request: { params: valuePath },
  responses: sends(
    "The value; its text has as many characters as the event says.",
    "application/json",
    z.unknown(),
  ),
});

/** The route that reads what events were too short for. */
export function valueRoutes({ root }: Context) {
  return routes().openapi(value, async (c) => {
    const { id, at } = c.req.valid("param");
    const json = readValue(root, await findThread(root, id), Number(at));
    return c.body(json, 200, { "Content-Type": "application/json" });
  });
}
