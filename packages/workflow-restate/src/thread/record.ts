import { requestIdOf, type ThreadState } from "@uncaged/workflow/store";
import type { EndRecord, Step } from "@uncaged/workflow/host";
import { END, INPUT } from "@uncaged/workflow";
import type { AppendedRecord, LastRecord } from "./thread.ts";

/** Returns the fields of a record that the object keeps, and text for the search. */
export function described(
  record: Step | EndRecord,
  state: ThreadState,
): Omit<AppendedRecord, "sum"> & { text?: string } {
  const { role, content, meta, timestamp } = record;
  if (role === END) {
    const { returnCode, reason } = meta as { returnCode: number; reason: string };
    const last: LastRecord = { role, timestamp, waits: false };
    return { last, end: { returnCode, reason }, text: content.slice(0, 4000) };
  }
  const last = lastOf([record], state) as LastRecord;
  return { last, ...(last.waits && { text: content.slice(0, 4000) }) };
}

/** Returns the fields of the last step that the object keeps; `state` is the thread's state after that step. */
export function lastOf(steps: readonly Step[], state: ThreadState): LastRecord | null {
  const last = steps.at(-1);
  if (!last) return null;
  const { role, meta, timestamp } = last;
  const waits = state.kind === "waiting";
  return {
    ...{ role, timestamp, waits },
    ...(meta.sleep === true && { sleeps: true }),
    ...(waits && state.dueAt !== null && { wakesAt: state.dueAt }),
  };
}

/** Returns the ids of the answers among steps. */
export const takenIds = (steps: readonly Step[]): string[] =>
  steps.flatMap((step) => (step.role === INPUT ? (requestIdOf(step) ?? []) : []));
