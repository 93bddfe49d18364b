import type { Thread, ThreadRow } from "@uncaged/workflow-server/api-types";

/** The rows whose id, workflow, hash or role holds a text. */
export function rowsWith(rows: readonly ThreadRow[], text: string): ThreadRow[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return [...rows];
  return rows.filter(({ threadId, workflow, hash, role }) =>
    [threadId, workflow, hash, role ?? ""].some((one) => one.toLowerCase().includes(wanted)),
  );
}

/** Whether the server may know a thread by a text: a part of an id. */
export const mayBeId = (text: string): boolean => /^(@last|[0-9a-z]{4,26})$/i.test(text.trim());

/** A thread as a row of the list. */
export function rowOf(thread: Thread): ThreadRow {
  const { threadId, workflow, hash, status, stepCount, createdAt, last } = thread;
  return {
    threadId,
    workflow,
    hash,
    status,
    steps: stepCount,
    createdAt,
    updatedAt: last?.timestamp ?? createdAt,
    role: last?.role,
  };
}
