import { createRoute, z } from "@hono/zod-openapi";
import {
  findThread,
  LogReader,
  parsePosition,
  readInfoPage,
  readValue,
} from "@uncaged/workflow/host";
import { idPath, logQuery } from "../schema/request.ts";
import { logPageSchema } from "../schema/thread.ts";
import { answers, type Context, routes, sends } from "./route.ts";

const tags = ["Events"];
const stream = z.string().openapi({ description: "Server-sent events: see docs/server.md." });

const log = createRoute({
  method: "get",
  path: "/threads/{id}/log",
  tags,
  summary: "A page of a thread's debug log, its events among it",
  request: { params: idPath, query: logQuery },
  responses: answers("The lines.", logPageSchema),
});

const follow = createRoute({
  method: "get",
  path: "/threads/{id}/events",
  tags,
  summary: "Follow a thread: its steps and events, those there are and those to come",
  request: {
    params: idPath,
    query: z.object({
      from: z.string().optional().openapi({ description: "The id of an event: begins behind it." }),
    }),
    headers: z.object({ "last-event-id": z.string().optional() }),
  },
  responses: {
    ...sends("start, step, event, status, end.", "text/event-stream", stream),
    204: { description: "All up to the end was read: there is nothing to reconnect for." },
  },
});

const watch = createRoute({
  method: "get",
  path: "/events",
  tags,
  summary: "Watch what changes: threads that are new or changed, removals, workflows",
  responses: sends("reload, thread, removed, workflows.", "text/event-stream", stream),
});

const valuePath = idPath.extend({
  at: z
    .string()
    .regex(/^\d{1,12}$/, "it is the `at` of a shortened value: a whole number")
    .openapi({ description: "The `at` that an event has in place of a value that was too long." }),
});

const value = createRoute({
  method: "get",
  path: "/threads/{id}/values/{at}",
  tags: tags,
  summary: "A value that was too long for its event, in full",
  request: { params: valuePath },
  responses: sends(
    "The value; its text has as many characters as the event names.",
    "application/json",
    z.unknown(),
  ),
});

/** The routes that stream, and those that read the same page by page and value by value. */
export function eventRoutes({ root, threadFeeds, changes, streams }: Context) {
  return routes()
    .openapi(log, async (c) => {
      const ref = await findThread(root, c.req.valid("param").id);
      const page = readInfoPage(root, ref, c.req.valid("query"));
      return c.json({ threadId: ref.threadId, ...page }, 200);
    })
    .openapi(follow, async (c) => {
      const ref = await findThread(root, c.req.valid("param").id);
      const last = c.req.header("last-event-id") || undefined;
      const text = last ?? c.req.valid("query").from;
      const from = text === undefined ? undefined : parsePosition(text);
      // A browser reconnects whenever a stream ends, unless the answer is 204.
      const isOver =
        last !== undefined && from && new LogReader(root, ref, from).facts.end !== null;
      if (isOver) return c.body(null, 204);
      streams.checkRoom();
      return streams.send(threadFeeds.listen(ref, from));
    })
    .openapi(watch, () => {
      streams.checkRoom();
      return streams.send(changes.listen());
    })
    .openapi(value, async (c) => {
      const { id, at } = c.req.valid("param");
      const json = readValue(root, await findThread(root, id), Number(at));
      return c.body(json, 200, { "Content-Type": "application/json" });
    });
}
