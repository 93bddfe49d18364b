import { createRoute, z } from "@hono/zod-openapi";
import type { Host, LogLine, ThreadRef, ThreadStatus } from "@uncaged/workflow/host";
import { idPath, logQuery } from "../schema/request.ts";
import { logPageSchema, type ThreadEvents } from "../schema/thread.ts";
import { sseBytes } from "../stream/sse.ts";
import type { LogItem, Serializer } from "../stream/thread-feed.ts";
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
export function eventRoutes({ host, threadFeeds, changes, connections }: Context) {
  return routes()
    .openapi(log, async (c) => {
      const ref = await host.find(c.req.valid("param").id);
      const { limit, type, ...from } = c.req.valid("query");
      const only = type === undefined ? undefined : [type];
      const lines: LogLine["record"][] = [];
      let next: number | null = null;
      for await (const { record, position } of host.log(ref, { ...from, only })) {
        lines.push(record);
        if (lines.length < limit) continue;
        next = position;
        break;
      }
      return c.json({ threadId: ref.threadId, lines, next }, 200);
    })
    .openapi(follow, async (c) => {
      const ref = await host.find(c.req.valid("param").id);
      const last = c.req.header("last-event-id") || undefined;
      const cursor = last ?? c.req.valid("query").from;
      const isAll = cursor !== undefined && (await isComplete(host, ref, cursor));
      // A browser reconnects whenever a stream ends, unless the answer is 204.
      if (isAll && last !== undefined) return c.body(null, 204);
      connections.checkLimit();
      return connections.send(threadFeeds.listen(ref, threadSerializer, { cursor }));
    })
    .openapi(watch, () => {
      connections.checkLimit();
      return connections.send(changes.listen());
    })
    .openapi(value, async (c) => {
      const { id, at } = c.req.valid("param");
      const json = await host.value(await host.find(id), Number(at));
      return c.body(json, 200, { "Content-Type": "application/json" });
    });
}

/** Whether a thread has ended and nothing of it comes after a cursor. @throws WorkflowError `BAD_POSITION`. */
async function isComplete(host: Host, ref: ThreadRef, cursor: string): Promise<boolean> {
  for await (const _ of host.observe(ref, cursor, { until: "now" })) return false;
  const { status = "running" } = (await host.row(ref)) ?? {};
  return status === "completed" || status === "failed" || status === "killed";
}

/** A thread's own stream: each item of its log as it is, with its cursor as the id. */
const threadSerializer: Serializer = {
  name: "thread",
  message(item, ref) {
    const { cursor } = item;
    const { name, data } = eventOf(ref, item);
    return { cursor, bytes: sseBytes(name, data, cursor), last: item.kind === "end" };
  },
  status: ({ status }) => sseBytes("status", { status }),
  over(state, ref, cursor) {
    if (state === "removed") return sseBytes("removed", { threadId: ref.threadId });
    const end = endOf(state);
    return sseBytes("end", end, end.result ? cursor : undefined);
  },
};

type ThreadEvent = {
  [Name in keyof ThreadEvents]: { name: Name; data: ThreadEvents[Name] };
}[keyof ThreadEvents];

function eventOf({ threadId, hash }: ThreadRef, item: LogItem): ThreadEvent {
  switch (item.kind) {
    case "start": {
      const { name: workflow, parameters, timestamp: createdAt, forkFrom = null } = item.start;
      const { prompt, options } = parameters;
      const { maxRounds } = options;
      const data = { threadId, workflow, hash, prompt, maxRounds, createdAt, forkFrom };
      return { name: "start", data };
    }
    case "step":
      return { name: "step", data: { number: item.number, ...item.step } };
    case "event":
      return { name: "event", data: item.event };
    case "end":
      return { name: "end", data: endOf(item.state) };
  }
}

const endOf = (state: ThreadStatus): ThreadEvents["end"] => ({
  status: state.status,
  result: "result" in state ? state.result : null,
});
