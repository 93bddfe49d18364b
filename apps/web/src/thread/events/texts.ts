import { counted, size } from "../../lib/format.ts";
import { isRecord } from "../../lib/json.ts";
import { ownIn } from "../../lib/own.ts";

type Payload = Readonly<Record<string, unknown>>;

export const wholeText = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "");

export const written = (value: unknown): string => {
  const text = wholeText(value);
  return text.length > 160 ? `${text.slice(0, 159)}…` : text;
};

/** An event in one line. */
export function textOf(type: string, payload: Payload): string {
  const own = ownIn(texts, type);
  return own ? own(payload) : Object.keys(payload).length > 0 ? written(payload) : "";
}

const failed = ({ error }: Payload) => written(isRecord(error) ? error.message : error);

const texts: Readonly<Record<string, (payload: Payload) => string>> = {
  llm_token: ({ delta }) => written(delta),
  llm_thinking: ({ delta }) => written(delta),
  attempt_start: ({ role, title }) => written(title ?? role ?? ""),
  attempt_end: ({ outcome, error }) =>
    isRecord(error) ? `${written(outcome)}: ${written(error.message)}` : written(outcome),
  worker_start: ({ pid }) => `process ${written(pid)}`,
  llm_retry: ({ error, delay_ms: ms }) => `in ${written(ms)} ms: ${written(error)}`,
  workflow_start: ({ name, resumedFrom }) =>
    resumedFrom === undefined ? written(name) : `${written(name)}, from ${written(resumedFrom)}`,
  workflow_failed: failed,
  step_start: ({ type }) => written(type),
  step_done: ({ selected }) => (selected ? `chose ${written(selected)}` : ""),
  step_error: failed,
  step_skipped: ({ condition }) => `condition not met: ${written(condition)}`,
  step_print: ({ value }) => written(value),
  llm_tool_use: ({ name, input }) => `${written(name)} ${written(input)}`,
  llm_tool_result: ({ content }) => written(content),
  llm_done: ({ model, usage }) => {
    const { input_tokens: sent = 0, output_tokens: got = 0 } = isRecord(usage) ? usage : {};
    return `${written(model)}, ${counted(Number(sent) + Number(got), "token")}`;
  },
  llm_error: failed,
  tool_start: ({ name, inputSummary }) => `${written(name)} ${written(inputSummary ?? "")}`,
  tool_message: ({ name, level, message }) =>
    `${written(name)}${level === "info" ? "" : `, ${written(level)}`}: ${written(message)}`,
  tool_done: ({ name, outputSummary }) => `${written(name)} ${written(outputSummary ?? "")}`,
  tool_error: (payload) => `${written(payload.name)}: ${failed(payload)}`,
  file_start: ({ path }) => written(path),
  file_done: ({ path, size_bytes: bytes }) => `${written(path)}, ${size(Number(bytes ?? 0))}`,
  pause_start: ({ reason }) => written(reason),
  pause_rejected: ({ reason }) => written(reason),
  pause_timeout: ({ timeoutAction }) => `continues at ${written(timeoutAction)}`,
  var_changed: ({ name, newValue, oldValue = null }) => {
    const before = oldValue === null ? "" : `, before: ${written(oldValue)}`;
    return `${written(name)} = ${written(newValue)}${before}`;
  },
  llm_compacted: ({ tokens, summary }) =>
    `summarised its conversation of ${written(tokens)} tokens: ${written(summary)}`,
};
