import type { Step } from "@uncaged/workflow/host";
import {
  type Attempt,
  type AttemptTurn,
  type EventRecord,
  knownEvent,
  type Orphan,
  type Path,
  totalTokens,
} from "@uncaged/workflow/records";
import { thrownText } from "./error.ts";
import { jsonOf } from "./output.ts";
import { spentText } from "./ledger.ts";
import type { Look, Paint, Style } from "./style.ts";
import { count, elapsed, hanging, oneLine, plain, sizeText, truncate } from "./text.ts";

const indent = 5;
const shownLines = 4;

const statusStyles: Record<Attempt["status"], Style> = {
  running: "cyan",
  committed: "green",
  failed: "red",
  skipped: "dim",
  cancelled: "yellow",
  lost: "yellow",
  parked: "yellow",
};

/** Returns the name of an attempt: its role, in the form that fork and rerun accept, and its iterations from 1. */
export function attemptName({ role, path }: Attempt): string {
  const iterations = path.flatMap((part) =>
    "iteration" in part && part.iteration !== undefined ? [part.iteration + 1] : [],
  );
  const suffix = iterations.length > 0 ? ` [${iterations.join(".")}]` : "";
  return oneLine(`${role ?? ""}${suffix}`);
}

/** Returns the position of an attempt, from the outermost construct: `Loop_Files[3] / Fork_Read: LLM_A`. */
const pathText = (path: Path): string =>
  oneLine(
    path
      .map((part) => {
        if ("run" in part) return `${part.in} ${part.run}`;
        const iteration = part.iteration === undefined ? "" : `[${part.iteration + 1}]`;
        return `${part.in}${iteration}: ${part.child}`;
      })
      .join(" / "),
  );

export function durationText({ startedAt, endedAt }: Attempt, now = 0): string {
  return startedAt === null ? "" : elapsed((endedAt ?? now) - startedAt);
}

/** Returns the usage of an attempt in a few words; "" without usage, or if another thread paid for it. */
export function attemptSpent({ usage, models, saved }: Attempt): string {
  if (usage === null || saved) return "";
  const costs = Object.values(models).map(({ cost }) => cost);
  return spentText({
    tokens: totalTokens(usage),
    cost: costs.reduce<number>((sum, cost) => sum + (cost ?? 0), 0),
    unpriced: costs.filter((cost) => cost === null).length,
  });
}

/** Returns a value as text: text unchanged, the preview of truncated text, anything else as JSON. */
export function valueText(value: unknown): string {
  if (typeof value === "string") return value;
  const { _truncated, preview } = (value ?? {}) as { _truncated?: unknown; preview?: unknown };
  if (_truncated === true) return valueText(preview);
  return value === undefined ? "" : jsonOf(value);
}

type ToolTurn = Extract<AttemptTurn, { kind: "tool" }>;

/** Returns a tool with its input and result on one line. The input gets half of the line. */
export function toolLine(turn: ToolTurn, columns: number): string {
  const { status, output, at, endedAt } = turn;
  const call = truncate(`> ${toolCall(turn)}`, Math.max(20, Math.floor(columns / 2)));
  if (status === "running" || (status === "failed" && output === undefined)) return call;
  const failed = status === "failed" ? "failed: " : "";
  const result = `${failed}${oneLine(valueText(output))} (${elapsed((endedAt ?? at) - at)})`;
  return truncate(`${call} → ${result}`, columns);
}

export const toolCall = ({ name, input }: ToolTurn): string =>
  `${oneLine(name)} ${oneLine(valueText(input))}`.trimEnd();

/** Returns the line for an event, shown among an attempt's turns; null for an event without a line. */
export function noteLine(event: EventRecord): string | null {
  const known = knownEvent(event);
  const id = event.stepID ?? "";
  switch (known?.type) {
    case "worker_start": {
      const { orphans } = known.payload;
      return Array.isArray(orphans)
        ? orphansText(orphans.filter((one) => typeof one?.command === "string"))
        : null;
    }
    case "tool_message": {
      const { name, level = "", message } = known.payload;
      const loud = level === "warn" || level === "error" ? `${level}: ` : "";
      return oneLine(`${name}: ${loud}${valueText(message)}`);
    }
    case "step_warning":
      return oneLine(`warning: ${valueText(known.payload.problem)}`);
    case "step_print":
      return oneLine(valueText(known.payload.value));
    case "step_skipped":
      return oneLine(`skipped ${id}: ${valueText(known.payload.condition)}`);
    case "file_done": {
      const { path, size_bytes: size } = known.payload;
      const bytes = typeof size === "number" ? ` (${sizeText(size)})` : "";
      return oneLine(`wrote ${path}${bytes}`);
    }
    case "pause_timeout":
      return oneLine(`no answer to ${id} in time: ${valueText(known.payload.timeoutAction)}`);
    case "pause_rejected":
      return oneLine(`an answer was refused: ${valueText(known.payload.reason)}`);
    case "llm_compacted": {
      const { tokens, summary } = known.payload;
      return oneLine(`summarised its conversation of ${tokens} tokens: ${valueText(summary)}`);
    }
    case "llm_retry": {
      const { attempt_number: number, delay_ms: delay, error } = known.payload;
      return oneLine(`${tryText(number, null, delay)}: ${valueText(error)}`);
    }
    case "llm_fallback": {
      const { failed, next, error } = known.payload;
      return oneLine(`agent ${failed} failed, agent ${next} takes over: ${valueText(error)}`);
    }
    case "llm_wait": {
      const { delay_ms: delay, reason } = known.payload;
      return oneLine(`waits about ${elapsed(delay)}: ${valueText(reason)}`);
    }
    default:
      return null;
  }
}

/** Returns the text for a failed try with a next try: `try 1 of 3 failed; next in 4 s`. */
export const tryText = (number: number, of: number | null, delayMs: number | null): string =>
  `try ${number}${of === null ? "" : ` of ${of}`} failed; next ${delayMs === null ? "at once" : `in ${delayText(delayMs)}`}`;

/** Describes a try that failed before the end of its attempt. */
export const retryText = (retry: { try: number; of: number; delay_ms: number }): string =>
  tryText(retry.try, retry.of, retry.delay_ms);

const delayText = (ms: number): string => {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${Number((ms / 1_000).toFixed(1))} s` : elapsed(ms);
};

/** Describes the next try, from the record of a durable step's failed try; null for any other step. */
export function failedTryText({ meta }: Step): string | null {
  const mark = meta.__durable__ as { retry?: unknown } | null | undefined;
  const retry = mark?.retry as { try?: unknown; of?: unknown; delayMs?: unknown } | undefined;
  if (typeof retry?.try !== "number" || typeof retry.of !== "number") return null;
  return tryText(retry.try, retry.of, typeof retry.delayMs === "number" ? retry.delayMs : null);
}

/** Returns the processes left running by a killed worker as text; null if there are none. */
export function orphansText(orphans: readonly Orphan[]): string | null {
  const list = (some: readonly Orphan[]) =>
    some.map(({ pid, command }) => `${pid} ${oneLine(command)}`.trim()).join(", ");
  const [left, ended] = [true, false].map((runsOn) =>
    orphans.filter((orphan) => (orphan.ended === null) === runsOn),
  ) as [Orphan[], Orphan[]];
  const parts = [
    ended.length > 0 && `ended processes that a killed worker left running: ${list(ended)}`,
    left.length > 0 && `a killed worker left processes running that can't be ended: ${list(left)}`,
  ];
  return parts.filter(Boolean).join("; ") || null;
}

/** Returns an attempt as text: its name, its end, its usage, and its turns in order. */
export function attemptText(attempt: Attempt, look: Look & { full: boolean; now: number }): string {
  const { paint } = look;
  const { status, path, title, step, error, retries, session, saved } = attempt;
  const facts = [
    paint("cyan", attemptName(attempt) || "-"),
    paint(statusStyles[status], saved ? "saved" : status),
    paint("dim", durationText(attempt, look.now)),
    paint("dim", attemptSpent(attempt)),
    paint("dim", pathText(path)),
    paint("dim", oneLine(title ?? "")),
  ];
  const head = [step === null ? "  -" : String(step).padStart(3), ...facts].filter(Boolean);
  const lines = attempt.turns.map((turn) => turnText(turn, look));
  for (const retry of retries) lines.push(`retried: ${oneLine(retry.error)}`);
  for (const note of attempt.notes) lines.push(noteLine(note) ?? "");
  if (session) lines.push(`session: ${oneLine(`${session.agent} ${session.session_id}`)}`);
  for (const warning of attempt.warnings) lines.push(warningLine(warning, paint));
  if (error) lines.push(thrownText(error, { ...look, columns: look.columns - indent }).trimEnd());
  const body = lines.filter((line) => line !== "").map((line) => `${hanging(line, indent)}\n`);
  return `${head.join("  ")}\n${body.join("")}`;
}

/** Returns the line for a violation of the descriptor by a step. */
export const warningLine = (problem: string, paint: Paint): string =>
  paint("yellow", oneLine(`warning: ${problem}`));

function turnText(turn: AttemptTurn, look: Look & { full: boolean }): string {
  const { paint } = look;
  if (turn.kind === "tool") {
    const columns = look.full ? Number.POSITIVE_INFINITY : look.columns - indent;
    const line = turn.status === "running" ? `> ${toolCall(turn)} …` : toolLine(turn, columns);
    return paint("dim", line);
  }
  const text = shortened(turn.text, look, indent);
  return turn.kind === "thinking" ? paint("dim", `thought: ${text}`) : text;
}

/** Returns a text in full, or on a terminal its first lines and the number of the remaining lines. */
export function shortened(text: string, look: Look & { full: boolean }, before: number): string {
  const whole = plain(text).replace(/\n+$/, "");
  if (look.full || !look.terminal) return whole;
  const lines = whole.split("\n");
  const shown = lines.slice(0, shownLines).map((line) => truncate(line, look.columns - before));
  const hidden = lines.length - shown.length;
  return hidden > 0
    ? `${shown.join("\n")}\n… ${count(hidden, "more line")} (--full)`
    : shown.join("\n");
}
