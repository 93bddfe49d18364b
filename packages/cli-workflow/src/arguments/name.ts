import { isWorkflowError, listWorkflows, WorkflowError } from "@uncaged/workflow/host";
import type { Session } from "../program/session.ts";

const mostEdits = 3;

/** Does something with a workflow's name; when there is no such workflow, the error tells which is meant. */
export async function withName<T>(
  session: Session,
  name: string,
  act: () => Promise<T>,
): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!isWorkflowError(error) || error.code !== "WORKFLOW_NOT_FOUND") throw error;
    const meant = await nearest(session, name);
    if (meant === null) throw error;
    const { code, kind, message } = error;
    throw new WorkflowError({ code, kind, message, hint: `did you mean ${meant}?` });
  }
}

async function nearest(session: Session, name: string): Promise<string | null> {
  const wanted = name.split("@")[0]?.toLowerCase() ?? "";
  if (wanted.length > 64) return null;
  const { distance } = await import("fastest-levenshtein");
  let best: { name: string; edits: number } | null = null;
  for (const known of await listWorkflows(session.root)) {
    const edits = distance(wanted, known.name.toLowerCase());
    const near = edits <= Math.min(mostEdits, Math.floor(known.name.length / 2));
    if (near && (!best || edits < best.edits)) best = { name: known.name, edits };
  }
  return best && best.name;
}
