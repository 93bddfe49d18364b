import type { ReactNode } from "react";
import { Asleep } from "../detail/detail.tsx";
import type { TraceRow } from "../trace/rows.ts";
import { hasDraft, Question } from "./question.tsx";

/**
 * The form of a row's open question, or of a closed question with unsent text; for a sleep, its end. `asked` counts
 * the requests to show the form.
 */
export function footOf(row: TraceRow, threadId: string, asked = 0): ReactNode {
  const step = row.card?.step;
  const isOver = row.status !== "waiting";
  if (!row.card || step?.role !== "__wait__") return undefined;
  if (isOver && !hasDraft(threadId, step.number)) return undefined;
  if (row.kind === "wait") return <Asleep card={row.card} />;
  return (
    <Question key={step.number} threadId={threadId} step={step} asked={asked} isOver={isOver} />
  );
}
