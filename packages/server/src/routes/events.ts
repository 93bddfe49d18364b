import { z } from "@hono/zod-openapi";
import {
  type Host,
  isWorkflowError,
  type LogLine,
  type Observed,
  type ThreadRef,
  type ThreadStatus,
} from "@uncaged/workflow/host";
import { idPath } from "../schema/request.ts";
import { logPageSchema, type ThreadEvents } from "../schema/thread.ts";
import { count, optionalText } from "../schema/value.ts";
import { merged } from "../stream/merged.ts";
import { type Message, type Messages, messageOf } from "../stream/streams.ts";
import { allRead, type Context, Routes } from "./route.ts";
import { tooManyThreads } from "./errors.ts";

const stream = z.string().describe("Server-sent events: see docs/reference/server.md.");

const valuePath = idPath.extend({
  at: z
    .string()
    .regex(/^\d{1,12}$/, "must be the `at` of a shortened value: a whole number")
    .describe("The `at` of an event in place of a long value."),
});

const mostThreads = 100;

/** Returns the routes that stream, and the routes that read the same data by page and by value. */
export function eventRoutes({ host, streams, changes, plans: planFeed }: Context) {
  const routes = new Routes("Events");
  routes.add("GET /threads/{id}/log", {
    summary: "A page of a thread's debug log with its events",
    params: idPath,
    query: z.object({
      after: count(0, 1_000_000_000_000).default(0).describe("The `next` of a page."),
      limit: count(1, 10_000).default(1000),
      step: count(0, 1_000_000_000)
        .optional()
        .describe("Only events before this step, which counts from 1."),
      type: optionalText.describe("Only events of this type."),
    }),
    answer: ["The lines.", logPageSchema],
    async run({ params, query: { limit, type, step, after } }) {
      const ref = await host.find(params.id);
      const only = type === undefined ? undefined : [type];
      const lines: LogLine["record"][] = [];
      for await (const { record, position } of host.log(ref, { after, only })) {
        // The log may have events of a step shortly after its end, but not after the next step.
        if (step !== undefined && (record.step ?? 0) > step + 1) break;
        if (step !== undefined && record.step !== step) continue;
        lines.push(record);
        if (lines.length === limit) return { threadId: ref.threadId, lines, next: position };
      }
      return { threadId: ref.threadId, lines, next: null };
    },
  });
  routes.add("GET /threads/{id}/events", {
    summary: "Stream a thread's steps and events, past and future",
    params: idPath,
    query: z.object({
      from: optionalText.describe("The id of an event: continues after it."),
    }),
    headers: z.object({ "last-event-id": optionalText }),
    answer: ["start, step, event, status, end.", stream, "text/event-stream"],
    others: allRead,
    run: ({ params, query }, call) =>
      streams.send(call, async (signal) => {
        const ref = await host.find(params.id);
        const last = call.req.header("last-event-id") || undefined;
        const cursor = last ?? query.from;
        const isAll = cursor !== undefined && (await isComplete(host, ref, cursor));
        // A browser reconnects after the end of a stream, unless it gets status 204.
        return isAll && last !== undefined ? null : threadMessages(host, ref, cursor, signal);
      }),
  });
  routes.add("GET /events", {
    summary: "Watch changes: new, changed and removed threads, and workflows",
    query: z.object({
      from: optionalText.describe(
        "The id of an event: continues after the event if the server still has it.",
      ),
      thread: z
        .union([z.string(), z.array(z.string())])
        .optional()
        .describe(
          "Follows these threads too, each given as its id, or as id~cursor to continue after an event. " +
            "An event `of` precedes the events of each source: the number of the thread, from 1, or 0 for changes.",
        ),
      plans: optionalText.describe(
        "Watches the plans too, like /plans/events: the id of an event to continue after, or empty. " +
          'An event `of` with "plans" precedes their events.',
      ),
    }),
    headers: z.object({ "last-event-id": optionalText }),
    answer: ["reload, thread, removed, workflows.", stream, "text/event-stream"],
    run({ query: { from, plans, thread = [] } }, call) {
      const threads = [thread].flat();
      if (threads.length > mostThreads) throw tooManyThreads(mostThreads);
      const after = from ?? call.req.header("last-event-id");
      return streams.send(call, (signal) => {
        const ofHost = changes.listen(after, signal);
        if (threads.length === 0 && plans === undefined) return ofHost;
        const sources: [number | string, Messages][] = [[0, ofHost]];
        for (const [at, one] of threads.entries())
          sources.push([at + 1, oneOfSeveral(host, one, signal)]);
        if (plans !== undefined)
          sources.push(["plans", planFeed.listen(plans || undefined, signal)]);
        return merged(sources);
      });
    },
  });
  routes.add("GET /threads/{id}/values/{at}", {
    summary: "The full text of a long value of an event",
    params: valuePath,
    answer: ["The value. The event has the length of its text.", z.unknown()],
    async run({ params: { id, at } }) {
      const json = await host.value(await host.find(id), Number(at));
      return new Response(json, { headers: { "Content-Type": "application/json" } });
    },
  });
  return routes.app;
}

/**
 * Tells whether a thread has ended and has no items after a cursor.
 * @throws WorkflowError `BAD_POSITION`.
 */
async function isComplete(host: Host, ref: ThreadRef, cursor: string): Promise<boolean> {
  for await (const _ of host.observe(ref, cursor, { until: "now" })) return false;
  const { status = "running" } = (await host.row(ref)) ?? {};
  return status === "completed" || status === "failed" || status === "killed";
}

/** Follows a thread from `id` or `id~cursor`. A missing thread counts as removed. */
async function* oneOfSeveral(host: Host, text: string, signal: AbortSignal): Messages {
  const [id = "", cursor] = text.split("~", 2);
  try {
    yield* threadMessages(host, await host.find(id), cursor, signal);
  } catch (error) {
    if (!isWorkflowError(error) || error.kind !== "missing") throw error;
    yield message("removed", { threadId: id });
  }
}

/** Yields the items of a thread, each with its cursor as the id, and its statuses. */
async function* threadMessages(
  host: Host,
  ref: ThreadRef,
  cursor: string | undefined,
  signal: AbortSignal,
): Messages {
  let state: ThreadStatus | null = null;
  let shown = "";
  for await (const item of host.observe(ref, cursor, { signal })) {
    if (item.kind === "status") {
      ({ state } = item);
      const { status } = state;
      const isPausing = status === "running" && state.pausing === true;
      const before = shown;
      shown = `${status} ${isPausing}`;
      // A corrupt or moved log ends the stream.
      if (shown === before || status === "corrupt" || status === "moved") continue;
      yield message("status", { status, ...(isPausing && { pausing: true }) });
    } else {
      yield messageFor(item, ref);
      if (item.kind === "end" || item.kind === "removed") return;
    }
  }
  if (signal.aborted) return;
  // The log has no readable end, or the thread had ended before the cursor.
  const end = endOf(state ?? (await host.read(ref)));
  yield message("end", end, end.result ? cursor : undefined);
}

function messageFor(
  item: Exclude<Observed, { kind: "status" }>,
  { threadId, hash }: ThreadRef,
): Message {
  const { cursor } = item;
  switch (item.kind) {
    case "start": {
      const { name: workflow, parameters, timestamp: createdAt, forkFrom = null } = item.start;
      const { prompt, options } = parameters;
      const { maxRounds } = options;
      const start = { threadId, workflow, hash, prompt, maxRounds, createdAt, forkFrom };
      return message("start", start, cursor);
    }
    case "step":
      return message("step", { number: item.number, ...item.step }, cursor);
    case "event":
      return message("event", item.event, cursor);
    case "end":
      return message("end", endOf(item.state), cursor);
    case "removed":
      return message("removed", { threadId });
  }
}

const message = <Name extends keyof ThreadEvents>(
  name: Name,
  data: ThreadEvents[Name],
  cursor?: string,
): Message => messageOf(name, data, cursor);

const endOf = (state: ThreadStatus): ThreadEvents["end"] => ({
  status: state.status,
  result: "result" in state ? state.result : null,
});
