import type { Status } from "@uncaged/workflow-server/api-types";
import { failedAmong, type ThreadLog } from "../../lib/thread-log.ts";
import type { TraceRow } from "./rows.ts";

/** The row of a step by its number. The number after the last step means the failed attempt. */
export function rowAtStep(
  rows: readonly TraceRow[],
  log: ThreadLog,
  step: number | undefined,
): TraceRow | null {
  if (step === undefined) return null;
  const own = rows.find(({ number }) => number === step);
  return own ?? (step === log.steps.length + 1 ? failedRow(rows, log) : null);
}

function failedRow(rows: readonly TraceRow[], log: ThreadLog): TraceRow | null {
  const [failed] = failedAmong(log.cards);
  return rows.find(({ id }) => id === failed?.attempt.attempt) ?? null;
}

/** The row that needs attention: the failure, the open question, else the newest running or last attempt. */
export function leadingRow(
  rows: readonly TraceRow[],
  log: ThreadLog,
  status: Status,
): TraceRow | null {
  if (status === "failed") {
    const failed = failedRow(rows, log);
    if (failed) return failed;
  }
  const attempts = rows.filter(({ kind }) => kind === "attempt");
  return (
    rows.findLast((row) => row.kind === "question" && row.status === "waiting") ??
    rows.findLast((row) => row.kind === "wait" && row.status === "waiting") ??
    attempts.findLast((row) => row.status === "running") ??
    attempts.at(-1) ??
    rows.at(-1) ??
    null
  );
}
