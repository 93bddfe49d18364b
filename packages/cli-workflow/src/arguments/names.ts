import {
  isWorkflowError,
  type SourceKind,
  type ThreadRef,
  WorkflowError,
} from "@uncaged/workflow/host";
import { errorEnvelope, errorText, exitCodes, recordOf } from "../session/failure.ts";
import type { Session } from "../session/session.ts";

/**
 * Does the same to each of several threads. One that can't be done does not stop the next: its error is
 * reported, and the first error decides the exit code. With `--json` one id gives its object and several an
 * array, in which `{id, error}` stands for what failed.
 */
export async function forEachThread<Result>(
  session: Session,
  ids: string[],
  act: (ref: ThreadRef) => Promise<Result>,
  text: (result: Result) => string,
): Promise<number> {
  const isOne = ids.length === 1;
  const results: unknown[] = [];
  let exitCode = 0;
  for (const id of ids) {
    try {
      const result = await act(await session.host.find(id));
      results.push(result);
      if (!session.json) session.write(`${text(result)}\n`);
    } catch (thrown) {
      const error = recordOf(thrown);
      if (isOne || error.code === "INTERNAL") throw thrown;
      results.push({ id, ...errorEnvelope(error) });
      if (!session.json) session.output.notes.write(errorText(error));
      exitCode ||= exitCodes[error.kind];
    }
  }
  if (session.json) session.show(isOne ? results[0] : results, () => "");
  return exitCode;
}

/** Does something with a workflow's name; when there is no such workflow, the error names the nearest. */
export async function withName<T>(
  session: Session,
  name: string,
  act: () => Promise<T>,
): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!isWorkflowError(error) || error.code !== "WORKFLOW_NOT_FOUND") throw error;
    const suggestion = await nearest(session, name);
    if (suggestion === null) throw error;
    throw WorkflowError.missing(error.code, error.message, `did you mean ${suggestion}?`);
  }
}

const mostEdits = 3;

async function nearest(session: Session, name: string): Promise<string | null> {
  const wanted = name.split("@")[0]?.toLowerCase() ?? "";
  if (wanted.length > 64) return null;
  const { distance } = await import("fastest-levenshtein");
  const [best] = (await session.host.workflows())
    .map((known) => ({ name: known.name, edits: distance(wanted, known.name.toLowerCase()) }))
    .filter(({ name: known, edits }) => edits <= Math.min(mostEdits, Math.floor(known.length / 2)))
    .sort((a, b) => a.edits - b.edits);
  return best?.name ?? null;
}

/** What makes a bundle of a step workflow, loaded for a file that may be one; its warnings are notes. */
export async function sourcesFor(session: Session, file: string): Promise<SourceKind[]> {
  if (!/\.(json|ya?ml)$/i.test(file)) return [];
  const { findIn, stepsSource } = await import("@uncaged/workflow-steps/source");
  const { host } = session;
  const find = findIn(process.cwd(), async (name) => {
    const { documentsOf } = await import("@uncaged/workflow-steps");
    const { hash } = await host.resolve(name);
    return documentsOf(hash, await host.descriptor(hash));
  });
  return [stepsSource((warning) => session.note(`warning: ${warning}`), { find })];
}
