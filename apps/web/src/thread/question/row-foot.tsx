import type { ReactNode } from "react";
import { Asleep } from "../detail/detail.tsx";
import type { TraceRow } from "../trace/rows.ts";
import { Question } from "./question.tsx";

/** The form of a row's open question, or the end of its sleep. `asked` counts the requests to show it. */
export function footOf(row: TraceRow, threadId: string, asked = 0): ReactNode {
  const step = row.card?.step;
  if (!row.card || !step || row.status !== "waiting") return undefined;
  if (row.kind === "wait") return <Asleep card={row.card} />;
  return <Question key={step.number} threadId={threadId} step={step} asked={asked} />;
}
