import type { Status } from "@uncaged/workflow-server/api-types";
import type { TraceRow } from "./rows.ts";

/** The row that needs attention: the failure, the open question, else the newest running or last attempt. */
export function leadingRow(rows: readonly TraceRow[], status: Status): TraceRow | null {
  const attempts = rows.filter(({ kind }) => kind === "attempt");
  return (
    rows.find(({ failedAt }) => status === "failed" && failedAt !== null) ??
    rows.findLast((row) => row.kind === "question" && row.status === "waiting") ??
    rows.findLast((row) => row.kind === "wait" && row.status === "waiting") ??
    attempts.findLast((row) => row.status === "running") ??
    attempts.at(-1) ??
    rows.at(-1) ??
    null
  );
}
