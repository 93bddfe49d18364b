import { createRoute, z } from "@hono/zod-openapi";
import { findThread, LogReader, parsePosition, readInfoPage } from "@uncaged/workflow/host";
import { idPath, logQuery } from "../shape/request.ts";
import { logPageShape } from "../shape/thread.ts";
import { answers, routes, sends } from "./answers.ts";
import type { Context } from "./context.ts";

const tags = ["Events"];
const stream = z.string().openapi({ description: "Server-sent events: see docs/server.md." });

const log = createRoute({
  method: "get",
  path: "/threads/{id}/log",
  tags,
  summary: "A page of a thread's debug log, its events among it",
  request: { params: idPath, query: logQuery },
  responses: answers("The lines.", logPageShape),
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

/** The routes that stream, and the one that reads the same page by page. */
export function eventRoutes({ root, feeds, changes, streams }: Context) {
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
      // A browser comes back whenever a stream ends, unless it is told that there is nothing more.
      const isOver =
        last !== undefined && from && new LogReader(root, ref, from).facts.end !== null;
      if (isOver) return c.body(null, 204);
      streams.checkRoom();
      return streams.send(feeds.listen(ref, from));
    })
    .openapi(watch, () => {
      streams.checkRoom();
      return streams.send(changes.listen());
    });
}
