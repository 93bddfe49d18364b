import { type ThreadInput, WAIT } from "@uncaged/workflow";
import { readGraph } from "../document/graph.ts";
import type { GraphDocument } from "../document/schema.ts";
import type { WorkflowLogEntry } from "../interpreter/log.ts";
import { Outline } from "../outline/outline.ts";
import { GraphState, type NodeRun } from "../state/state.ts";

/** The current position of a run. `state` has each node's output by node id, and each answer as `<id>_approval`. */
export type RunView = {
  state: Record<string, unknown>;
  /** Id of the waiting approval, else of the start node; null if the run is done. */
  currentNodeId: string | null;
  /** Whether an approval was reached. Its question follows when the running nodes have ended. */
  waitingForInput: boolean;
};

/** Computes the current position of a graph's run from the steps of its thread. */
export function foldRun(
  document: Partial<GraphDocument>,
  { steps }: Pick<ThreadInput, "steps">,
): RunView {
  const outline = new Outline(readGraph(document));
  const folded = new GraphState(outline);
  for (const step of steps) folded.apply(step);
  const { current } = folded;
  const at = current?.node ?? (folded.isDone ? null : outline.start);
  return {
    state: stateOf(folded),
    currentNodeId: at?.id ?? null,
    waitingForInput: current !== null,
  };
}

function stateOf(folded: GraphState): Record<string, unknown> {
  const { approvals, current, deferred, outputs, previousOutput, queued, reviews } = folded;
  const answers = [...reviews].map(([id, { decision, note }]) => [
    `${id}_approval`,
    { decision, note },
  ]);
  const inputs = approvals.map(({ input, node }) => [node.id, input]);
  return {
    ...Object.fromEntries([...outputs, ...answers]),
    ...(previousOutput !== undefined && { previous_output: previousOutput }),
    ...(inputs.length > 0 && { __approval_contexts__: Object.fromEntries(inputs) }),
    ...(queued.length > 0 && { __pending_approval_queue__: queued.map(idOf) }),
    ...(deferred.length > 0 && { __deferred_node_queue__: deferred }),
    ...(current && { pre_approval_output: current.input }),
  };
}

const idOf = ({ node }: NodeRun): string => node.id;

/** The status of a run in the API of agent graphs. */
export type RunStatus = "pending" | "running" | "paused" | "completed" | "failed" | "cancelled";

/** A run, as the API returns it. */
export type RunResult = {
  runId: string;
  status: RunStatus;
  logs: WorkflowLogEntry[];
  state: Record<string, unknown>;
  waitingForInput: boolean;
  currentNodeId: string | null;
  /** Step number of the open question, which an answer must contain; null while no answer is possible. */
  question?: number | null;
  workflow?: Partial<GraphDocument>;
};

/** The record of a run, in the format that other programs store. */
export type RunRecord = {
  runId: string;
  workflow: Partial<GraphDocument>;
  logs: WorkflowLogEntry[];
  status: RunStatus;
  state?: Record<string, unknown>;
  currentNodeId?: string | null;
  waitingForInput?: boolean;
  question?: number | null;
};

/** A thread that runs a graph: the fields of `thread --json` and of the HTTP API that this file reads. */
export type GraphThread = {
  status: string;
  steps: ThreadInput["steps"];
  createdAt: number;
  result?: { summary: string } | null;
};

/** Folds a thread into a run. `logs` are the log lines of its events. */
export function runResult({
  document,
  logs,
  runId,
  thread,
}: {
  runId: string;
  document: Partial<GraphDocument>;
  thread: GraphThread;
  logs: readonly WorkflowLogEntry[];
}): Required<RunResult> {
  const { currentNodeId, state, waitingForInput: isReached } = foldRun(document, thread);
  const status = statusOf(thread, isReached);
  const isOver = status === "completed";
  return {
    runId,
    workflow: document,
    status,
    logs: [...logs, ...missingLog(thread, logs)],
    state,
    waitingForInput: status === "paused",
    currentNodeId: isOver ? null : currentNodeId,
    question: isAsking(thread) ? thread.steps.length : null,
  };
}

/** Tells whether the thread has an open question. The worker reports `running` until the wait begins. */
const isAsking = ({ status, steps }: GraphThread): boolean =>
  status === "waiting" || (status === "running" && steps.at(-1)?.role === WAIT);

/** Returns the status. A reached approval makes the run `paused`, even while other nodes are still running. */
function statusOf({ status }: GraphThread, isReached: boolean): RunStatus {
  switch (status) {
    case "completed":
      return "completed";
    case "killed":
      return "cancelled";
    case "running":
    case "paused":
      return isReached ? "paused" : "running";
    case "waiting":
      return "paused";
    default:
      return "failed";
  }
}

/** Returns the log line for a failure that the run itself could not log, such as a lost worker or a damaged log. */
function missingLog(
  { createdAt, result, status, steps }: GraphThread,
  logs: readonly WorkflowLogEntry[],
): WorkflowLogEntry[] {
  const reasons: Record<string, string | undefined> = {
    interrupted: "Run was interrupted",
    corrupt: "The log of the run is damaged",
    failed: result?.summary,
  };
  const content = reasons[status];
  const isKnown = logs.some(
    (line) => line.content === content && (line.type === "llm_error" || line.type === "error"),
  );
  if (content === undefined || isKnown) return [];
  const lastStep = steps.at(-1)?.timestamp;
  const timestamp = Math.max(createdAt, lastStep ?? 0, logs.at(-1)?.timestamp ?? 0);
  const reason = status === "interrupted" && { reason: "interrupted" as const };
  return [{ timestamp, nodeId: "system", type: "error", content, ...reason }];
}
