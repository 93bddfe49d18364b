import type { AfterAttempt, AttemptOutcome, RetriedTry, Path } from "./attempt.ts";
import { isRecord } from "./show.ts";

/** Name of the `node:diagnostics_channel` on which a workflow publishes the events of a step. */
export const eventsChannel = "uncaged.workflow";

type Json = Record<string, unknown>;

/** A process left running by a killed worker, and the signal that ended it; null when it still runs. */
export type Orphan = { pid: number; command: string; ended: "SIGTERM" | "SIGKILL" | null };

/**
 * Payloads of the event types that the command line and the console show. Values that may be long are `unknown`: a
 * recorded event may contain a `TruncatedValue` instead. The engine writes `worker_start`, `attempt_start`,
 * `attempt_end` and `journal`; step workflows, roles and agents publish the other types.
 */
export type EventPayloads = {
  /** A worker starts to drive the thread, after `steps` committed steps: attempts still open are lost. */
  worker_start: { pid: number; steps: number; orphans?: Orphan[] };
  attempt_start: {
    role: string | null;
    path?: Path;
    title?: string;
    parent?: string;
    after?: AfterAttempt;
  };
  attempt_end: { outcome: AttemptOutcome; error?: AttemptError; retry?: RetriedTry };
  /**
   * A step's record for its next execution, by the step's key. `after` is the number of earlier entries of the step
   * that were durable in the same debug log.
   */
  journal: { key: string; entry: unknown; after?: number };
  workflow_start: { name: unknown; version: unknown; params: unknown; resumedFrom?: string };
  workflow_done: { duration_ms: number; stop_id?: string };
  workflow_failed: { error: unknown; failed_step_id: string | null; duration_ms: number };
  workflow_cancelled: { duration_ms: number };
  step_start: { type: string; meta?: Json | null; resolvedInputs?: unknown };
  /** `spent` is the total spending of the role, in the format of a step's meta. */
  step_done: { outputs?: unknown; selected?: string | null; spent?: unknown };
  step_error: { error: unknown; spent?: unknown };
  step_skipped: { condition?: unknown };
  step_print: { value: unknown };
  /** A committed step breaks its bundle's descriptor. */
  step_warning: { role: string; problem: string };
  llm_start: { call_id: string; model: string };
  llm_usage: {
    call_id: string;
    model: string;
    usage: unknown;
    cost_usd: number | null;
    /** `open`: the call continues. `whole`: all tokens are counted. `broken`: the call ended before that. */
    state: "open" | "whole" | "broken";
  };
  llm_token: { delta: string };
  llm_thinking: { delta: string };
  llm_tool_use: { tool_use_id: string; name: string; input: unknown };
  llm_tool_result: { tool_use_id: string; content: unknown; is_error?: boolean };
  llm_retry: { attempt_number: number; delay_ms: number; error: unknown };
  /** A call waits for its provider's rate limit. `delay_ms` is an estimate. */
  llm_wait: { delay_ms: number; reason: string };
  /** One of several agents failed, and another agent takes over. Agents are counted from 1. */
  llm_fallback: { failed: number; next: number; code: string; error: unknown };
  llm_error: { error: unknown; type?: string; code?: string; retryable?: boolean };
  /** A conversation continues after the turns and tool calls recorded by an earlier execution of the step. */
  llm_resumed: { turns: number; tool_calls: number };
  llm_compacted: { tokens: number; summary: string };
  llm_done: {
    latency_ms?: number;
    model?: string | null;
    usage?: unknown;
    cost_usd?: number | null;
  };
  /** A command agent's own session. A later step of the role continues it. */
  session: { agent: string; session_id: string };
  tool_start: { name: string; input: unknown };
  tool_message: { name: string; level?: string; message: unknown; data?: unknown };
  tool_done: { name: string; output: unknown };
  tool_error: { name: string; error: unknown; allowError?: boolean; output?: unknown };
  file_start: { path: string };
  file_done: { path: string; size_bytes?: number };
  pause_start: { nodeId: string; waitToken?: string; reason?: unknown; expireAt?: unknown };
  pause_resumed: { nodeId: string; requestId?: string; resumedAt?: string };
  pause_timeout: { nodeId: string; expiredAt?: string; timeoutAction?: unknown };
  pause_rejected: { reason: string };
  var_changed: { name: string; oldValue?: unknown; newValue?: unknown };
};

/** Name of an event type. */
export type EventType = keyof EventPayloads;

/**
 * A position in an author's source, counted from 1, and the text of that line. `frame` has that line and its
 * surrounding lines as in the file, starting at the line `from`.
 */
export type ErrorPosition = {
  file: string;
  line: number;
  column: number;
  text?: string;
  frame?: { from: number; lines: string[] };
};

/**
 * A thrown value. `at` is the author's line that threw. `stack` and `at` refer to the sources if a source map has the
 * position. `errors` has the parts of an `AggregateError`.
 */
export type AttemptError = {
  name: string;
  message: string;
  code?: string;
  stack?: string;
  at?: ErrorPosition;
  cause?: AttemptError;
  errors?: AttemptError[];
};

/**
 * An event of a workflow, as one plain JSON object. `type` may also be a custom name. `stepID` is the name of the step
 * that the event belongs to, null for the workflow as a whole. `attempt` is the attempt's id; without it, the event
 * belongs to the attempt in whose async context it is published.
 *
 * A workflow need not publish anything. To publish, it imports only Node modules:
 *
 *     import { channel } from "node:diagnostics_channel";
 *     import { eventsChannel, type WorkflowEvent } from "@uncaged/workflow";
 *
 *     const event: WorkflowEvent = { type: "llm_token", stepID: "coder", payload: { delta: "Hi" } };
 *     channel(eventsChannel).publish(event);
 *
 * The async context of the publisher determines the event's thread.
 */
export type WorkflowEvent = {
  type: EventType | (string & {});
  stepID: string | null;
  payload: Record<string, unknown>;
  attempt?: string;
};

/**
 * An event in the debug log. `seq` counts up within the thread; `step` is the number, from 1, of the step that the
 * thread was to commit next when the event was published; `timestamp` is in milliseconds since the epoch.
 */
export type EventRecord = WorkflowEvent & { seq: number; step?: number; timestamp: number };

/** A recorded event of a known type, its payload checked. */
export type KnownEvent = {
  [T in EventType]: Omit<EventRecord, "type" | "payload"> & { type: T; payload: EventPayloads[T] };
}[EventType];

/** Fields that distinguish each type from a foreign event of the same name. */
const required: { [T in EventType]: Record<string, "string" | "number" | "any"> } = {
  worker_start: { pid: "number", steps: "number" },
  attempt_start: {},
  attempt_end: { outcome: "string" },
  journal: { key: "string" },
  workflow_start: {},
  workflow_done: {},
  workflow_failed: {},
  workflow_cancelled: {},
  step_start: {},
  step_done: {},
  step_error: { error: "any" },
  step_skipped: {},
  step_print: { value: "any" },
  step_warning: { problem: "string" },
  llm_start: { call_id: "string" },
  llm_usage: { call_id: "string", state: "string" },
  llm_token: { delta: "string" },
  llm_thinking: { delta: "string" },
  llm_tool_use: { tool_use_id: "string", name: "string" },
  llm_tool_result: { tool_use_id: "string" },
  llm_retry: { attempt_number: "number" },
  llm_wait: { delay_ms: "number" },
  llm_fallback: { failed: "number", next: "number" },
  llm_error: { error: "any" },
  llm_resumed: { turns: "number" },
  llm_compacted: { tokens: "number", summary: "string" },
  llm_done: {},
  session: { agent: "string", session_id: "string" },
  tool_start: { name: "string" },
  tool_message: { name: "string", message: "any" },
  tool_done: { name: "string" },
  tool_error: { name: "string", error: "any" },
  file_start: { path: "string" },
  file_done: { path: "string" },
  pause_start: { nodeId: "string" },
  pause_resumed: { nodeId: "string" },
  pause_timeout: { nodeId: "string" },
  pause_rejected: {},
  var_changed: { name: "string" },
};

/** Parses a line of a debug log as an event of any type; null when it is not an event. */
export function readEvent(line: unknown): EventRecord | null {
  if (!isRecord(line) || typeof line.type !== "string") return null;
  const { type, seq, stepID, payload, timestamp, step, attempt } = line;
  if (!Number.isSafeInteger(seq) || typeof timestamp !== "number") return null;
  return {
    type,
    stepID: typeof stepID === "string" ? stepID : null,
    payload: isRecord(payload) ? payload : {},
    seq: seq as number,
    timestamp,
    ...(typeof step === "number" && { step }),
    ...(typeof attempt === "string" && { attempt }),
  };
}

/** Returns an event with the payload of its type when the payload has the required fields; else null. */
export function knownEvent(event: EventRecord): KnownEvent | null {
  const fields = Object.hasOwn(required, event.type) ? required[event.type as EventType] : null;
  if (fields === null) return null;
  const isWhole = Object.entries(fields).every(([name, kind]) =>
    kind === "any" ? name in event.payload : typeof event.payload[name] === kind,
  );
  return isWhole ? (event as KnownEvent) : null;
}

/** Maximum JSON length of a value in an event, in characters. */
export const longestShown = 10 * 1024;
const previewLength = 200;

/** Payload values that are lists: their items are truncated, not the list itself. */
export const listNames: readonly string[] = ["resolvedInputs", "outputs"];

/**
 * Marker in place of a value whose JSON is longer than 10 KB, of `length` characters. `at` is the byte offset of the
 * whole value in the thread's file of values; without `at` only the preview is known.
 */
export type TruncatedValue = {
  _truncated: true;
  type: "object" | "string";
  length: number;
  preview: string;
  at?: number;
};

/**
 * Returns a value in the form for an event: the value itself, or its marker when its JSON is longer than 10 KB. Use it
 * only for values that are recorded in full elsewhere: recording an event truncates its other values too, but keeps
 * them in full in the file of values.
 */
export function truncated<T>(value: T): T | TruncatedValue {
  if (typeof value === "string" && value.length * 6 + 2 <= longestShown) return value;
  const json = JSON.stringify(value) ?? "null";
  return json.length <= longestShown ? value : markerOf(json);
}

/** Returns the marker of a value, from its JSON. */
export function markerOf(json: string): TruncatedValue {
  const type = json.startsWith('"') ? "string" : "object";
  const preview = `${json.slice(0, previewLength)}...`;
  return { _truncated: true, type, length: json.length, preview };
}
