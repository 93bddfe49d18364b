import type { AttemptTurn } from "@uncaged/workflow/records";
import type { Card, ThreadLog } from "../../lib/thread-log.ts";

/** A row of the trace. */
export type TraceRow = {
  id: string;
  kind:
    | "attempt"
    | "loop"
    | "iteration"
    | "branch"
    | "thinking"
    | "text"
    | "tool"
    | "question"
    | "answer"
    | "wait"
    | "pause"
    | "retry";
  depth: number;
  parent: string | null;
  name: string;
  status:
    | "running"
    | "done"
    | "failed"
    | "skipped"
    | "cancelled"
    | "lost"
    | "waiting"
    | "copied"
    | "parked";
  number: number | null;
  startedAt: number | null;
  endedAt: number | null;
  tokens: number;
  cost: number | null;
  card: Card | null;
  turn: AttemptTurn | null;
};

/** The rows of a thread. */
export function traceRows(log: ThreadLog): TraceRow[] {
  return log.cards.flatMap((card) => {
    const { attempt, step } = card;
    const status = attempt.saved
      ? "copied"
      : attempt.status === "committed"
        ? "done"
        : attempt.status;
    const row: TraceRow = {
      id: attempt.attempt,
      kind:
        step?.role === "__wait__" ? "question" : step?.role === "__input__" ? "answer" : "attempt",
      depth: 0,
      parent: null,
      name: step?.role ?? attempt.role ?? attempt.stepID ?? "unnamed",
      status: step?.role === "__wait__" && step === log.steps.at(-1) ? "waiting" : status,
      number: step?.number ?? null,
      startedAt: attempt.startedAt,
      endedAt: attempt.endedAt,
      tokens: Object.values(attempt.usage ?? {}).reduce((a, b) => a + b, 0),
      cost: attempt.cost,
      card,
      turn: null,
    };
    const turns = attempt.turns.map(
      (turn, at): TraceRow => ({
        ...row,
        id: `${row.id}/${at}`,
        kind: turn.kind,
        depth: 1,
        parent: row.id,
        name: turn.kind === "tool" ? turn.name : turn.kind,
        status: turn.kind === "tool" ? turn.status : "done",
        startedAt: turn.at,
        endedAt: turn.kind === "tool" ? turn.endedAt : null,
        number: null,
        turn,
      }),
    );
    return [row, ...turns];
  });
}
