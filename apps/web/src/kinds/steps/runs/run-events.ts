import { readEvent } from "@uncaged/workflow/records";
import type { LogLine, NumberedStep, ThreadEvents } from "@uncaged/workflow-server/api-types";
import { useEffect, useMemo, useState } from "react";
import { counted, size } from "../../../lib/format.ts";
import { isRecord } from "../../../lib/json.ts";
import { Stream } from "../../../lib/stream.ts";

export type RunLine = {
  key: string;
  at: number;
  /** The event's type; `checkpoint` for a committed step, `rerun` for a step that a run restarted at. */
  type: string;
  stepID: string | null;
  text: string;
  payload: Readonly<Record<string, unknown>>;
};

/** Maximum number of lines. Beyond it, the oldest lines are dropped. */
const most = 2_000;

/** Events that the trace shows elsewhere, or that are internal. */
const hidden: ReadonlySet<string> = new Set([
  "llm_token",
  "llm_thinking",
  "attempt_start",
  "attempt_end",
  "worker_start",
]);

/** The events of a run except tokens, in log order. */
export class RunLines {
  #lines: readonly RunLine[] = [];
  dropped = 0;

  get lines(): readonly RunLine[] {
    return this.#lines;
  }

  takeEvent(line: LogLine): void {
    const event = readEvent(line);
    if (event === null || hidden.has(event.type)) return;
    const { type, stepID, seq, timestamp: at } = event;
    const payload = isRecord(event.payload) ? event.payload : {};
    this.#add({ key: `event ${seq}`, at, type, stepID, text: textOf(type, payload), payload });
  }

  takeStep({ number, role, content, meta, timestamp: at }: NumberedStep): void {
    const isRerun = role === "__input__" && meta.for === "rerun";
    if (role.startsWith("__") && !isRerun) return;
    const type = isRerun ? "rerun" : "checkpoint";
    const stepID = isRerun && typeof meta.stepID === "string" ? meta.stepID : role;
    const text = isRerun ? content : `step ${number} committed`;
    this.#add({ key: `step ${number}`, at, type, stepID, text, payload: meta });
  }

  #add(line: RunLine): void {
    const from = Math.max(0, this.#lines.length + 1 - most);
    this.dropped += from;
    this.#lines = [...this.#lines.slice(from), line];
  }
}

type Payload = Readonly<Record<string, unknown>>;

const written = (value: unknown): string => {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return text.length > 160 ? `${text.slice(0, 159)}…` : text;
};

function textOf(type: string, payload: Payload): string {
  return Object.hasOwn(texts, type) ? (texts[type]?.(payload) ?? "") : "";
}

const failed = ({ error }: Payload) => written(isRecord(error) ? error.message : error);

const texts: Readonly<Record<string, (payload: Payload) => string>> = {
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
  var_changed: ({ name, newValue }) => `${written(name)} = ${written(newValue)}`,
};

/** The live events of a run. `runID` is null without a run. */
export function useRunLines(runID: string | null): RunLines {
  const { lines } = useMemo(() => ({ runID, lines: new RunLines() }), [runID]);
  const [, setDrawn] = useState(0);
  useEffect(() => {
    if (runID === null) return;
    let frame = 0;
    const taken = () => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        setDrawn((count) => count + 1);
      });
    };
    const stream = new Stream<ThreadEvents>({
      thread: runID,
      on: {
        event: (line) => {
          lines.takeEvent(line);
          taken();
        },
        step: (step) => {
          lines.takeStep(step);
          taken();
        },
        end: () => stream.close(),
      },
    });
    return () => {
      stream.close();
      cancelAnimationFrame(frame);
    };
  }, [runID, lines]);
  return lines;
}
