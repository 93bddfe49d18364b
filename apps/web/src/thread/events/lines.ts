import { readEvent } from "@uncaged/workflow/records";
import type { LogLine, NumberedStep, ThreadEvents } from "@uncaged/workflow-server/api-types";
import { useEffect, useMemo, useState } from "react";
import { isRecord } from "../../lib/json.ts";
import { Stream } from "../../lib/stream.ts";

/** An event, or the commit of a step, as a line. */
export type EventLine = {
  key: string;
  at: number;
  /** The event's type; `checkpoint` for a committed step, `rerun` for a step that a run restarted at. */
  type: string;
  stepID: string | null;
  attempt: string | null;
  text: string;
  payload: Readonly<Record<string, unknown>>;
};

/** Number of lines to keep. Drops the oldest lines once a tenth more have arrived. */
const most = 50_000;

const streamed: ReadonlySet<string> = new Set(["llm_token", "llm_thinking"]);

/** The events of a thread in log order. The pieces of a streamed text are one line. */
export class EventLines {
  readonly lines: EventLine[] = [];
  readonly types = new Map<string, number>();
  dropped = 0;
  version = 0;
  /** The line of each attempt that the next piece of a text belongs to. */
  readonly #growing = new Map<string, EventLine>();

  takeEvent(line: LogLine): void {
    const event = readEvent(line);
    if (event === null) return;
    const { type, stepID, seq, timestamp: at, attempt = null } = event;
    const payload = isRecord(event.payload) ? event.payload : {};
    const growing = this.#growing.get(attempt ?? "");
    if (growing?.type === type && streamed.has(type)) {
      const delta = `${wholeText(growing.payload.delta)}${wholeText(payload.delta)}`;
      Object.assign(growing, { payload: { delta }, text: written(delta) });
      this.version += 1;
      return;
    }
    const text = textOf(type, payload);
    const made = { key: `event ${seq}`, at, type, stepID, attempt, text, payload };
    this.#add(made);
    if (streamed.has(type)) this.#growing.set(attempt ?? "", made);
    else this.#growing.delete(attempt ?? "");
  }

  takeStep({ number, role, content, meta, timestamp: at, attempt }: NumberedStep): void {
    const isRerun = role === "__input__" && meta.for === "rerun";
    const type = isRerun ? "rerun" : "checkpoint";
    const stepID = isRerun && typeof meta.stepID === "string" ? meta.stepID : role;
    const text = isRerun ? content : `step ${number} committed`;
    const line = { key: `step ${number}`, at, type, stepID, text, payload: meta };
    this.#add({ ...line, attempt: attempt ?? `step-${number}` });
  }

  #add(line: EventLine): void {
    this.version += 1;
    this.types.set(line.type, (this.types.get(line.type) ?? 0) + 1);
    this.lines.push(line);
    if (this.lines.length < most + most / 10) return;
    const old = this.lines.splice(0, this.lines.length - most);
    this.dropped += old.length;
    for (const { type } of old) this.types.set(type, (this.types.get(type) ?? 1) - 1);
  }
}

/** The events of a thread, live. `threadId` is null without a thread. */
export function useEventLines(threadId: string | null): EventLines {
  const { lines } = useMemo(() => ({ threadId, lines: new EventLines() }), [threadId]);
  const [, setDrawn] = useState(0);
  useEffect(() => {
    if (threadId === null) return;
    let frame = 0;
    const taken = () => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        setDrawn((count) => count + 1);
      });
    };
    const stream = new Stream<ThreadEvents>({
      thread: threadId,
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
  }, [threadId, lines]);
  return lines;
}

type Payload = Readonly<Record<string, unknown>>;

const wholeText = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "");

const written = (value: unknown): string => {
  const text = wholeText(value);
  return text.length > 160 ? `${text.slice(0, 159)}…` : text;
};

/** The most informative fields of events, in reading order. */
const fields = [
  ...["name", "resumedFrom", "title", "role", "model", "pid", "type", "outcome", "level"],
  ...["selected", "condition", "path", "timeoutAction", "value", "delta", "reason", "message"],
  ...["error", "input", "inputSummary", "content", "outputSummary", "summary"],
];

/** Returns an event in one line: its most informative fields, else its payload. */
export function textOf(type: string, payload: Payload): string {
  if (type === "var_changed") return `${written(payload.name)} = ${written(payload.newValue)}`;
  const parts = fields.flatMap((name) => {
    const value = payload[name] ?? "";
    const shown = isRecord(value) && name === "error" ? value.message : value;
    return shown === "" ? [] : [written(shown)];
  });
  if (parts.length > 0) return parts.join(", ");
  return Object.keys(payload).length > 0 ? written(payload) : "";
}
