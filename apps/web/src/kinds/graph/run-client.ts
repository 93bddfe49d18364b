import type {
  ApprovalInput,
  RunRecord,
  RunResult,
  WorkflowLogEntry,
} from "@uncaged/workflow-graph/run";
import { isRecord, readJson } from "../../lib/json.ts";
import { linesOf, pathOf, request, requestStream } from "../../lib/request.ts";

/** A message of a run's stream: the run's id, a line of its log, or its outcome. */
export type RunMessage =
  | { type: "start"; runId: string }
  | { type: "log"; entry: WorkflowLogEntry }
  | { type: "done"; result: RunResult }
  | { type: "error"; message: string };

const post = { method: "POST" } as const;

export const startRun = (graph: unknown, name: string | undefined, signal: AbortSignal) =>
  streamOf("/run-stream", { ...post, json: { graph, name }, signal });

export const answerRun = (
  runId: string,
  question: number,
  input: ApprovalInput,
  signal: AbortSignal,
) => streamOf("/resume-stream", { ...post, json: { runId, question, input }, signal });

export const followRun = (runId: string, signal: AbortSignal) =>
  streamOf(`${pathOf("run", runId)}/events`, { signal });

export const readRun = (runId: string, signal: AbortSignal) =>
  request<RunRecord>(pathOf("run", runId), { signal });

export const cancelRun = (runId: string) =>
  request<unknown>("/cancel", { ...post, json: { runId } });

/**
 * Continues a failed or interrupted run, or retries it from a node. The returned id may belong to a new run with the
 * kept steps.
 */
export const retryRun = (runId: string, nodeId?: string) =>
  request<{ runId: string }>("/retry", { ...post, json: { runId, nodeId } });

/** Maximum time, in milliseconds, for processing messages before the page handles input again. */
const busyMs = 20;

async function* streamOf(
  path: string,
  options: Parameters<typeof requestStream>[1],
): AsyncGenerator<RunMessage> {
  const body = await requestStream(path, options);
  let until = performance.now() + busyMs;
  for await (const line of linesOf(body)) {
    if (performance.now() > until) {
      await new Promise((done) => setTimeout(done));
      until = performance.now() + busyMs;
    }
    const event = eventIn(line);
    if (event) yield event;
  }
}

/** The event of a line `data: {json}`; null for other lines. */
export function eventIn(line: string): RunMessage | null {
  if (!line.startsWith("data:")) return null;
  const { value } = readJson(line.slice("data:".length));
  return isRecord(value) && typeof value.type === "string" ? (value as RunMessage) : null;
}
