import type { EventType } from "@uncaged/workflow";
import type { Path } from "@uncaged/workflow/interpreter";

/** The types of a run's events. The types are part of the wire format: never rename a type. */
export const RunEventType = {
  workflow_start: "workflow_start",
  workflow_done: "workflow_done",
  workflow_failed: "workflow_failed",
  workflow_cancelled: "workflow_cancelled",
  step_start: "step_start",
  step_done: "step_done",
  step_error: "step_error",
  step_skipped: "step_skipped",
  step_print: "step_print",
  llm_token: "llm_token",
  llm_thinking: "llm_thinking",
  llm_tool_use: "llm_tool_use",
  llm_tool_result: "llm_tool_result",
  llm_error: "llm_error",
  llm_done: "llm_done",
  tool_start: "tool_start",
  tool_message: "tool_message",
  tool_done: "tool_done",
  tool_error: "tool_error",
  file_start: "file_start",
  file_done: "file_done",
  pause_start: "pause_start",
  pause_resumed: "pause_resumed",
  pause_timeout: "pause_timeout",
  pause_rejected: "pause_rejected",
  var_changed: "var_changed",
} as const satisfies Record<string, EventType>;
/** The type of an event. */
export type RunEventType = (typeof RunEventType)[keyof typeof RunEventType];

/**
 * An event of a run. `seq` is 1, 2, 3 … within the run and continues after a resume;
 * `ts` is an ISO 8601 time in UTC. `clientRunToken` is the caller's text, if given.
 */
export type RunEvent = {
  type: RunEventType;
  stepID: string | null;
  payload: Record<string, unknown>;
  seq: number;
  ts: string;
  runID: string;
  clientRunToken?: string;
  /** The attempt at the event's step. `path` has the branch, iteration and child run of the attempt. */
  attempt?: string;
  path?: Path;
};

/** The attempt and the path shared by all events of one execution of a step. */
export type Origin = { attempt: string | undefined; path: Path };

export type Emit = (type: RunEventType, payload: Record<string, unknown>) => void;
