import { type Host, type ThreadRef, toErrorRecord } from "@uncaged/workflow/host";
import type { Message, Messages } from "../stream/streams.ts";
import type { GraphRun, GraphRuns } from "./graph-run.ts";
import type { Records } from "./records.ts";

/** The runs for streams. `resultOf` resolves once the run's copy contains the result. */
type Views = { host: Host; runs: GraphRuns; resultOf: Records["result"] };

type From = { cursor?: string; isNumbered?: boolean };

/**
 * Streams a run: its start, its log lines, and its result when it ends or waits. With `isNumbered`, messages have the
 * cursor after them as the id.
 */
export async function* runMessages(
  { host, runs, resultOf }: Views,
  run: GraphRun,
  { cursor = "", isNumbered = false }: From,
  signal: AbortSignal,
): Messages {
  let at = cursor;
  const message = (data: object): Message => ({
    data: JSON.stringify(data),
    ...(isNumbered && at !== "" && { id: at }),
  });
  const done = async (): Promise<Message> => {
    try {
      return message({ type: "done", result: await resultOf(run) });
    } catch (error) {
      return message({ type: "error", message: toErrorRecord(error).message });
    }
  };
  for await (const item of host.observe(run.ref, cursor || undefined, { signal })) {
    at = item.cursor;
    switch (item.kind) {
      case "start":
        yield message(startOf(run.ref));
        for (const entry of await runs.kept(run.ref)) yield message({ type: "log", entry });
        break;
      case "event": {
        const entry = await runs.entry(run.ref, item.event);
        if (entry) yield message({ type: "log", entry });
        break;
      }
      case "step":
        if (item.step.role !== "__wait__" || !(await runs.isLast(run.ref, item.number))) break;
        return yield await done();
      case "status":
        if (item.state.status !== "interrupted") break;
        return yield await done();
      case "end":
        return yield await done();
      case "removed":
        return yield message({ type: "error", message: "Run not found" });
    }
  }
  // The log is damaged, or has no item after the cursor.
  if (!signal.aborted) yield await done();
}

/** Streams a run from the position where it waited for an answer. */
export async function* resumedRun(
  views: Views,
  run: GraphRun,
  cursor: string,
  signal: AbortSignal,
): Messages {
  yield { data: JSON.stringify(startOf(run.ref)) };
  yield* runMessages(views, run, { cursor }, signal);
}

/**
 * Streams a run for GET, each message with its id. Returns null for a client that reconnects after the end. A client
 * that reconnects after a wait gets the messages after the answer.
 */
export async function followRun(
  views: Views,
  run: GraphRun,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<Messages | null> {
  if (cursor !== undefined && (await isComplete(views, run, cursor))) return null;
  return runMessages(views, run, { cursor, isNumbered: true }, signal);
}

/** Returns the cursor at the end of a thread's log. */
export async function cursorAt(host: Host, ref: ThreadRef): Promise<string> {
  let last = "";
  for await (const { cursor } of host.observe(ref, undefined, { until: "now" })) last = cursor;
  return last;
}

async function isComplete({ host }: Views, { ref }: GraphRun, cursor: string): Promise<boolean> {
  const { status } = await host.read(ref);
  if (status === "running" || status === "paused" || status === "waiting") return false;
  for await (const { kind } of host.observe(ref, cursor, { until: "now" })) {
    // A killed agent may publish events after the end.
    if (kind === "end" || status === "interrupted") return false;
  }
  return true;
}

const startOf = ({ threadId: runId }: ThreadRef) => ({ type: "start", runId });
