import type { EventRecord } from "@uncaged/workflow/records";
import type { WorkflowEvent } from "@uncaged/workflow";
import type { ApprovalDecision } from "@uncaged/workflow/interpreter";

/** The types of the lines in a run's log. They are wire format: add types, but never rename one. */
export type LogType =
  | "step_start"
  | "start_prompt"
  | "llm_response"
  | "llm_error"
  | "logic_check"
  | "wait_input"
  | "input_received"
  | "warn"
  | "error"
  | "subagent_call_start"
  | "subagent_call_end"
  | "subagent_call_error";

/** A line in the log of a run. `timestamp` is in milliseconds since the epoch; `nodeId` is `system` for the run. */
export type WorkflowLogEntry = {
  timestamp: number;
  nodeId: string;
  type: LogType;
  content: string;
  /** The decision in the answer to an approval. */
  decision?: Decision;
  /** Why the run ended, for an error that the run itself could not log. */
  reason?: "interrupted";
};

type Decision = ApprovalDecision["decision"];

const eventType = "graph_log";

/** Returns the event that publishes a line of the log. `decision` is null for an answer without a decision. */
export const logEvent = (
  nodeId: string,
  type: LogType,
  content: string,
  { attempt, decision }: { attempt?: string; decision?: Decision | null } = {},
): WorkflowEvent => ({
  type: eventType,
  stepID: nodeId === "system" ? null : nodeId,
  payload: { nodeId, type, content, ...(decision !== undefined && { decision }) },
  ...(attempt !== undefined && { attempt }),
});

/** Returns the event for a line that another program logged, with the line's time. */
export const importedLogEvent = (line: WorkflowLogEntry): WorkflowEvent => {
  const { content, decision, nodeId, timestamp, type } = line;
  const event = logEvent(nodeId, type, content, { decision });
  return { ...event, payload: { ...event.payload, at: timestamp } };
};

/**
 * Returns the log line of a recorded event; null for any other event. Long content is truncated; {@link wholeLogEntry}
 * returns all of it.
 */
export function logEntryOf({ payload, timestamp, type }: EventRecord): WorkflowLogEntry | null {
  if (type !== eventType) return null;
  const { at, content, nodeId, type: line } = payload;
  if (typeof nodeId !== "string" || typeof line !== "string") return null;
  const text = typeof content === "string" ? content : beginningOf(content);
  const decision = decisionIn(payload, text);
  return {
    timestamp: typeof at === "number" ? at : timestamp,
    nodeId,
    type: line as LogType,
    content: text,
    ...(decision && { decision }),
  };
}

/** Returns the decision of a line. Lines of earlier versions and of other programs contain it only in their text. */
function decisionIn({ decision, type }: EventRecord["payload"], text: string): Decision | null {
  if (decision === "approve" || decision === "reject") return decision;
  if (decision !== undefined || type !== "input_received") return null;
  const [, done] = /^User (approved|rejected) this step\./.exec(text) ?? [];
  return done === undefined ? null : done === "rejected" ? "reject" : "approve";
}

/** Like {@link logEntryOf}, with the whole content. `valueAt` returns the JSON of a long value in the thread's events. */
export async function wholeLogEntry(
  event: EventRecord,
  valueAt: (at: number) => Promise<string>,
): Promise<WorkflowLogEntry | null> {
  const entry = logEntryOf(event);
  const { at } = (event.payload.content ?? {}) as { at?: unknown };
  if (entry === null || typeof at !== "number") return entry;
  try {
    return { ...entry, content: String(JSON.parse(await valueAt(at))) };
  } catch {
    // A thread's values may be lost although its log still exists.
    return entry;
  }
}

/** Returns the beginning of a text from the first characters of its JSON. */
function beginningOf(content: unknown): string {
  const { preview } = (content ?? {}) as { preview?: unknown };
  if (typeof preview !== "string") return "";
  const json = preview.replace(/\.\.\.$/, "").replace(/\\(u[0-9a-f]{0,3})?$/i, "");
  try {
    return `${JSON.parse(`${json}"`) as string}…`;
  } catch {
    return preview;
  }
}
