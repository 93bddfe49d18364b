/** The name of the `node:diagnostics_channel` on which a workflow tells what happens inside a step. */
export const eventsChannel = "uncaged.workflow";

/** The event types that the engine, the command line and the console know how to show. */
export type EventType =
  | "workflow_start"
  | "workflow_done"
  | "workflow_failed"
  | "workflow_cancelled"
  | "step_start"
  | "step_done"
  | "step_error"
  | "step_skipped"
  | "step_print"
  | "llm_token"
  | "llm_thinking"
  | "llm_tool_use"
  | "llm_tool_result"
  | "llm_error"
  | "llm_done"
  | "llm_start"
  | "llm_usage"
  | "tool_start"
  | "tool_message"
  | "tool_done"
  | "tool_error"
  | "file_start"
  | "file_done"
  | "pause_start"
  | "pause_resumed"
  | "pause_timeout"
  | "pause_rejected"
  | "var_changed";

/**
 * What a workflow publishes, as one plain JSON object. `type` may also be a word of its own.
 * `stepID` is the step that the event belongs to, null for the workflow as a whole.
 *
 * A workflow need not publish anything. One that does imports nothing but Node:
 *
 *     import { channel } from "node:diagnostics_channel";
 *     import { eventsChannel, type WorkflowEvent } from "@uncaged/workflow";
 *
 *     const event: WorkflowEvent = { type: "llm_token", stepID: "coder", payload: { delta: "Hi" } };
 *     channel(eventsChannel).publish(event);
 *
 * Which thread it belongs to is told by the async context it is published in.
 */
export type WorkflowEvent = {
  type: EventType | (string & {});
  stepID: string | null;
  payload: Record<string, unknown>;
};

/**
 * An event as it is recorded and streamed. `seq` counts up within the thread, `ts` is an ISO 8601
 * time in UTC, `runID` the thread's id; a publisher gives none of the three.
 */
export type RunEvent = WorkflowEvent & { seq: number; ts: string; runID: string };
