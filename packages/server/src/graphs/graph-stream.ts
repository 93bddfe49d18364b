import { type ThreadRef, type ThreadStatus, toErrorRecord } from "@uncaged/workflow/host";
import type { Context } from "../routes/route.ts";
import type { Source } from "../stream/connections.ts";
import { type Bytes, type SseMessage, unnamedBytes } from "../stream/sse.ts";
import type { LogItem, Serializer } from "../stream/thread-feed.ts";
import { preceded } from "../stream/together.ts";
import type { GraphRun, GraphRuns } from "./graph-run.ts";
import type { Records } from "./records.ts";

const nothing: Bytes = new Uint8Array();

/** The runs for streams. `resultOf` resolves once the run's copy contains the result. */
type Views = { runs: GraphRuns; resultOf: Records["result"] };

/** Streams a run: its start, its log lines, and its result when it ends or waits. */
export function streamRun({ connections, ...context }: Context, views: Views, run: GraphRun) {
  return connections.send(() => listen(context, views, run, {}), { greets: false });
}

/** Streams a run from the position where it waited for an answer. */
export function streamResumed(
  { connections, ...context }: Context,
  views: Views,
  run: GraphRun,
  cursor: string,
): Response {
  const start = unnamedBytes(startOf(run.ref));
  const open = () => preceded(start, listen(context, views, run, { cursor }));
  return connections.send(open, { greets: false });
}

/**
 * Streams a run for GET, each message with its id. A client that reconnects after the end gets status 204. A client
 * that reconnects after a wait gets the messages after the answer.
 */
export async function followRun(
  { connections, ...context }: Context,
  views: Views,
  run: GraphRun,
  lastId: string | undefined,
): Promise<Response> {
  if (lastId !== undefined && (await isComplete(context, run, lastId))) {
    return new Response(null, { status: 204 });
  }
  const from = { cursor: lastId, isNumbered: true };
  return connections.send(() => listen(context, views, run, from));
}

/** Returns the cursor at the end of a thread's log. */
export async function cursorAt({ host }: Pick<Context, "host">, ref: ThreadRef): Promise<string> {
  let last = "";
  for await (const { cursor } of host.observe(ref, undefined, { until: "now" })) last = cursor;
  return last;
}

async function isComplete(
  { host }: Pick<Context, "host">,
  { ref }: GraphRun,
  cursor: string,
): Promise<boolean> {
  const { status } = await host.read(ref);
  if (status === "running" || status === "paused" || status === "waiting") return false;
  for await (const { kind } of host.observe(ref, cursor, { until: "now" })) {
    // A killed agent may publish events after the end.
    if (kind === "end" || status === "interrupted") return false;
  }
  return true;
}

type From = { cursor?: string; isNumbered?: boolean };

function listen(
  { threadFeeds }: Pick<Context, "threadFeeds">,
  views: Views,
  run: GraphRun,
  { cursor, isNumbered = false }: From,
): Source {
  return threadFeeds.listen(run.ref, graphSerializer(views, run, isNumbered), { cursor });
}

const startOf = ({ threadId: runId }: ThreadRef) => ({ type: "start", runId });

/** Returns the serializer for the documented messages of a run's stream. */
function graphSerializer(
  { runs, resultOf }: Views,
  run: GraphRun,
  isNumbered: boolean,
): Serializer {
  const bytesOf = (data: object, cursor: string): Bytes =>
    unnamedBytes(data, isNumbered && cursor !== "" ? cursor : undefined);
  const done = async (cursor: string): Promise<Bytes> => {
    try {
      return bytesOf({ type: "done", result: await resultOf(run) }, cursor);
    } catch (error) {
      return bytesOf({ type: "error", message: toErrorRecord(error).message }, cursor);
    }
  };
  const dataOf = async (item: LogItem): Promise<Pick<SseMessage, "bytes" | "last">> => {
    const { cursor } = item;
    switch (item.kind) {
      case "start": {
        const kept = await runs.kept(run.ref);
        const all = [startOf(run.ref), ...kept.map((entry) => ({ type: "log", entry }))];
        return { bytes: Buffer.concat(all.map((data) => bytesOf(data, cursor))) };
      }
      case "event": {
        const entry = await runs.entry(run.ref, item.event);
        return { bytes: entry ? bytesOf({ type: "log", entry }, cursor) : nothing };
      }
      case "step": {
        const isAsked = item.step.role === "__wait__" && (await runs.isLast(run.ref, item.number));
        return isAsked ? { bytes: await done(cursor), last: true } : { bytes: nothing };
      }
      case "end":
        return { bytes: await done(cursor), last: true };
    }
  };
  return {
    name: isNumbered ? "graph run by GET" : "graph run",
    message: async (item) => ({ cursor: item.cursor, ...(await dataOf(item)) }),
    status: () => null,
    isOver: ({ status }: ThreadStatus) => status === "interrupted",
    async over(state, _ref, cursor) {
      if (state !== "removed") return await done(cursor);
      return bytesOf({ type: "error", message: "Run not found" }, cursor);
    },
  };
}
