import type { LogLine } from "@uncaged/workflow-server/api-types";
import { isRecord, ownIn } from "./json.ts";

/** A tool's call: `output` is undefined until it is done. */
export type ToolCall = {
  id: string;
  name: string;
  input: unknown;
  output: unknown;
  isDone: boolean;
  isError: boolean;
  notes: string[];
};

/** One call of a model, told when it is done. */
type ModelCall = {
  model: string | null;
  latencyMs: number | null;
  usage: Readonly<Record<string, number>>;
};

/** Something else that a step told: a variable that changed, a file, a printed value, a message. */
export type Note = { kind: "variable" | "file" | "print" | "error" | "message"; text: string };

/** What happened inside a step, as its events tell. It grows while the step runs. */
export type Activity = {
  stepID: string;
  /** What kind of step it is: `LLM`, `Role`. */
  type: string | null;
  title: string | null;
  startedAt: number;
  inputs: Readonly<Record<string, unknown>> | null;
  thinking: string;
  response: string;
  tools: ToolCall[];
  models: ModelCall[];
  notes: Note[];
  outputs: unknown;
  /** Which way a branch took. */
  selected: string | null;
  error: string | null;
};

/** The activity of a step of which nothing was told yet. */
export const newActivity = (stepID: string, startedAt: number): Activity => ({
  stepID,
  type: null,
  title: null,
  startedAt,
  inputs: null,
  thinking: "",
  response: "",
  tools: [],
  models: [],
  notes: [],
  outputs: null,
  selected: null,
  error: null,
});

/** Takes what an event tells into the activity of its step. What is not known is left out. */
export function tell(activity: Activity, { type = "", payload, timestamp }: LogLine): void {
  const said = isRecord(payload) ? payload : {};
  ownIn(tellers, type)?.(activity, said, timestamp);
}

type Payload = Record<string, unknown>;
type Teller = (activity: Activity, payload: Payload, timestamp: number) => void;

const tellers: Record<string, Teller> = {
  step_start: (activity, { type, meta, resolvedInputs }, timestamp) => {
    const title = isRecord(meta) ? meta.title : null;
    // A step that begins again, after its worker was lost, begins with nothing.
    Object.assign(activity, newActivity(activity.stepID, timestamp), {
      type: textOr(type, null),
      title: textOr(title, null),
      inputs: isRecord(resolvedInputs) ? resolvedInputs : null,
    });
  },
  step_done: (activity, { outputs, selected }) => {
    activity.outputs = outputs ?? null;
    activity.selected = textOr(selected, null);
  },
  step_error: (activity, { error }) => {
    activity.error = textOr(error, "it failed");
  },
  step_print: (activity, { value }) => note(activity, "print", inLine(value)),
  llm_thinking: (activity, { delta }) => {
    activity.thinking += textOr(delta, "");
  },
  llm_token: (activity, { delta }) => {
    activity.response += textOr(delta, "");
  },
  llm_tool_use: (activity, { tool_use_id, name, input }) =>
    callTool(activity, textOr(tool_use_id, ""), name, input),
  llm_tool_result: (activity, { tool_use_id, content, is_error }) =>
    endTool(activity, textOr(tool_use_id, ""), content, is_error === true),
  llm_done: (activity, { model, latency_ms, usage }) => {
    activity.models.push({
      model: textOr(model, null),
      latencyMs: typeof latency_ms === "number" ? latency_ms : null,
      usage: numbersIn(usage),
    });
  },
  llm_error: (activity, { error }) => note(activity, "error", textOr(error, "the model failed")),
  tool_start: (activity, { name, input }) => callTool(activity, textOr(name, ""), name, input),
  tool_message: (activity, { name, message }) => {
    const text = textOr(message, "");
    const tool = openTool(activity, textOr(name, ""));
    if (tool) tool.notes.push(text);
    else note(activity, "message", text);
  },
  tool_done: (activity, { name, output }) => endTool(activity, textOr(name, ""), output, false),
  tool_error: (activity, { name, error }) => endTool(activity, textOr(name, ""), error, true),
  file_done: (activity, { path }) => note(activity, "file", textOr(path, "")),
  var_changed: (activity, { name, newValue }) =>
    note(activity, "variable", `${textOr(name, "")} = ${inLine(newValue)}`),
};

function callTool(activity: Activity, id: string, name: unknown, input: unknown): void {
  const call = { id, name: textOr(name, "tool"), input, output: undefined };
  activity.tools.push({ ...call, isDone: false, isError: false, notes: [] });
}

function endTool(activity: Activity, id: string, output: unknown, isError: boolean): void {
  const tool = openTool(activity, id);
  if (tool) Object.assign(tool, { output, isError, isDone: true });
}

const openTool = ({ tools }: Activity, id: string): ToolCall | undefined =>
  tools.findLast((tool) => tool.id === id && !tool.isDone);

const note = ({ notes }: Activity, kind: Note["kind"], text: string) => notes.push({ kind, text });

const textOr = <Other>(value: unknown, other: Other): string | Other =>
  typeof value === "string" ? value : other;

const longestLine = 300;

function inLine(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "null");
  return text.length > longestLine ? `${text.slice(0, longestLine)}…` : text;
}

function numbersIn(usage: unknown): Record<string, number> {
  const entries = isRecord(usage) ? Object.entries(usage) : [];
  return Object.fromEntries(
    entries.filter((entry): entry is [string, number] => typeof entry[1] === "number"),
  );
}
