import type { EventRecord } from "@uncaged/workflow/records";
import type { WorkflowEvent } from "@uncaged/workflow";

/** The types of the lines in a run's log. They are wire format: added to, never renamed. */
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
};

const eventType = "graph_log";

/** The event that a line of the log is published as. */
export const logEvent = (
  nodeId: string,
  type: LogType,
  content: string,
  attempt?: string,
): WorkflowEvent => ({
  type: eventType,
  stepID: nodeId === "system" ? null : nodeId,
  payload: { nodeId, type, content },
  ...(attempt !== undefined && { attempt }),
});

/** The event for a line that another program had logged, at its time. */
export const importedLogEvent = (line: WorkflowLogEntry): WorkflowEvent => {
  const { content, nodeId, timestamp, type } = line;
  const event = logEvent(nodeId, type, content);
  return { ...event, payload: { ...event.payload, at: timestamp } };
};

/**
 * The line of the log that a recorded event is; null for other events. Of a content that was too long for an event
 * there is the beginning: {@link wholeLogEntry} reads all of it.
 */
export function logEntryOf({ payload, timestamp, type }: EventRecord): WorkflowLogEntry | null {
  if (type !== eventType) return null;
  const { at, content, nodeId, type: line } = payload;
  if (typeof nodeId !== "string" || typeof line !== "string") return null;
  return {
    timestamp: typeof at === "number" ? at : timestamp,
    nodeId,
    type: line as LogType,
    content: typeof content === "string" ? content : beginningOf(content),
  };
}

/** As {@link logEntryOf}, with the whole content: `valueAt` gives the JSON of a long value of the thread's events. */
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
    // The values of a thread may be lost where its log is not.
    return entry;
  }
}

/** The beginning of a text of which an event has the first characters of its JSON. */
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
