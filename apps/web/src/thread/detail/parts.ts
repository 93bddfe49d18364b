import { type Attempt, knownEvent, totalTokens } from "@uncaged/workflow/records";
import { duration } from "../../lib/format.ts";
import { isRecord } from "../../lib/json.ts";
import type { Card } from "../../lib/thread-log.ts";
import { textOf } from "../events/lines.ts";

const spendingKeys = new Set(["usage", "model", "models", "cost"]);

export type Spending = {
  tokens: Readonly<Record<string, number>>;
  total: number;
  models: readonly string[];
  latencyMs: number | null;
  cost: number | null;
};

/** The spending of a card's attempt; null without a model call. */
export function spendingOf({ attempt }: Card): Spending | null {
  const { usage, models, cost, notes } = attempt;
  if (usage === null) return null;
  const latencies = notes.flatMap((note) => {
    const event = knownEvent(note);
    return event?.type === "llm_done" ? (event.payload.latency_ms ?? []) : [];
  });
  return {
    tokens: usage,
    total: totalTokens(usage),
    models: Object.keys(models).filter((model) => model !== "unknown"),
    latencyMs: latencies.length > 0 ? latencies.reduce((a, b) => a + b) : null,
    cost,
  };
}

/** The result of a step: its published outputs, or its meta without spending. */
export function outputsOf({ attempt, step }: Card): Readonly<Record<string, unknown>> {
  const outputs = attempt.output?.outputs;
  // An agent's role publishes its content and meta, which the step holds in full.
  if (isRecord(outputs) && !("content" in outputs && "meta" in outputs)) return outputs;
  if (step && isCommit(step.meta)) return writtenBy(step.meta);
  return Object.fromEntries(
    Object.entries(step?.meta ?? {}).filter(
      ([name, value]) => !spendingKeys.has(name) && !isMark(name, value),
    ),
  );
}

// Durable code adds a mark with the encoding of a value, or with the thrown error, which the attempt also has.
const isMark = (name: string, value: unknown): boolean => name === mark && isRecord(value);
const mark = "__durable__";

/** The current try of a step and the maximum number of tries; `next` is the time of the next try after a failure. */
export type Try = { number: number; of: number | null; next: number | null };

/** The try of an attempt; null for a step without retries. */
export function tryOf({ attempt, step }: Card): Try | null {
  const note = step?.meta[mark];
  const retry = isRecord(note) ? note.retry : null;
  if (isRecord(retry)) {
    const { try: number, of, at } = retry;
    if (typeof number === "number" && typeof of === "number" && typeof at === "number")
      return { number, of, next: at };
  }
  const before = attempt.retries.filter(({ attempt: tried }) => tried !== undefined).length;
  return before === 0 ? null : { number: before + 1, of: null, next: null };
}

/** Tells whether a meta is a document step's commit record, which wraps its result. */
export const isCommit = (meta: Readonly<Record<string, unknown>>): boolean =>
  typeof meta.phase === "string" && Array.isArray(meta.variables);

function writtenBy({ variables }: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const writes: unknown[] = Array.isArray(variables) ? variables : [];
  return Object.fromEntries(
    writes
      .filter(isRecord)
      .filter((write): write is { path: unknown[]; value: unknown } => Array.isArray(write.path))
      .map(({ path, value }) => [path.map(String).join("."), value]),
  );
}

/** The content of a step; null if the error shows the content, or the content only repeats the outputs. */
export function contentOf({ attempt, step }: Card, hasOutputs: boolean): string | null {
  if (!step || step.content === attempt.error?.message) return null;
  const isSummary = isCommit(step.meta) && (hasOutputs || attempt.path.length > 0);
  return isSummary ? null : step.content;
}

export type TurnGroup =
  | { kind: "thinking" | "text"; at: number; text: string }
  | { kind: "tools"; at: number; calls: ToolCall[] };

export type ToolCall = Extract<Attempt["turns"][number], { kind: "tool" }>;

/** The turns of an attempt in order, in groups. `at` is the index of a group's first turn. */
export function groupsOf(turns: Attempt["turns"]): TurnGroup[] {
  const groups: TurnGroup[] = [];
  for (const [at, turn] of turns.entries()) {
    const last = groups.at(-1);
    if (turn.kind !== "tool") groups.push({ kind: turn.kind, at, text: turn.text });
    else if (last?.kind === "tools") last.calls.push(turn);
    else groups.push({ kind: "tools", at, calls: [turn] });
  }
  return groups;
}

/** An event, or a retry, in one line. */
export type Note = { type: string; text: string; at: number };

/** Retries, and events without their own view, in the order of time. */
export const notesOf = ({ attempt: { retries, notes } }: Card): Note[] =>
  [
    ...retries.map(({ error, delayMs, at }): Note => {
      const wait = delayMs === null ? "" : ` after ${duration(delayMs)}`;
      return { type: "retry", text: `tried again${wait}: ${error}`, at };
    }),
    ...notes
      .filter(({ type }) => type !== "llm_done" && type !== "file_start")
      .map(({ type, payload, timestamp }) => ({
        type,
        text: textOf(type, isRecord(payload) ? payload : {}),
        at: timestamp,
      })),
  ].toSorted((a, b) => a.at - b.at);
