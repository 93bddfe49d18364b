import {
  isWorkflowError,
  type SourceKind,
  type ThreadRef,
  WorkflowError,
} from "@uncaged/workflow/host";
import type { Orphan } from "@uncaged/workflow/records";
import { nearestName } from "@uncaged/workflow/document";
import { orphansText } from "../output/attempt.ts";
import { exitCodes } from "../output/exit-code.ts";
import { errorEnvelope, errorText, recordOf } from "../session/failure.ts";
import { sourceListed } from "./listed.ts";
import type { Session } from "../session/session.ts";

/**
 * Applies an action to several threads. Continues after a failure and reports its error; the first error sets the exit
 * code. With `--json`, prints the result for a single id, or an array of results for several ids. In the array, a
 * failed action has `{id, error}`.
 */
export async function forEachThread<Result>(
  session: Session,
  ids: string[],
  act: (ref: ThreadRef) => Promise<Result>,
  text: (result: Result) => string,
): Promise<number> {
  const isOne = ids.length === 1;
  const results: unknown[] = [];
  let exitCode: number = exitCodes.done;
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

/** Prints a note about processes that a killed worker left running. */
export function noteOrphans(session: Session, { orphans = [] }: { orphans?: Orphan[] }): void {
  const text = orphansText(orphans);
  if (text !== null) session.note(text);
}

/**
 * Applies an action to a workflow's name. For an unknown workflow, replaces the hint of the error: by the command that
 * adds the workflow if the project lists it, else by the result of `otherwise`, else by the nearest name.
 */
export async function withName<T>(
  session: Session,
  name: string,
  act: () => Promise<T>,
  otherwise: () => string | null = () => null,
): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!isWorkflowError(error) || error.code !== "WORKFLOW_NOT_FOUND") throw error;
    const isListed = sourceListed(session, name) !== null;
    const hint = isListed
      ? `add the project's workflow first: uncaged-workflow add ${name}`
      : (otherwise() ?? (await nearestHint(session, name)));
    throw hint === null
      ? error
      : session.exact(WorkflowError.missing(error.code, error.message, hint));
  }
}

async function nearestHint({ host }: Session, name: string): Promise<string | null> {
  const names = (await host.workflows()).map((workflow) => workflow.name);
  const suggestion = nearestName(name.split("@")[0] ?? "", names);
  return suggestion === null ? null : `did you mean ${suggestion}?`;
}

/** Returns the kinds of documents that a JSON or YAML file may be; none for other files. Prints their warnings. */
export async function sourcesFor(session: Session, file: string): Promise<SourceKind[]> {
  if (!/\.(json|ya?ml)$/i.test(file)) return [];
  const [{ findIn, stepsSource }, { graphSource }, { planSource }] = await Promise.all([
    import("@uncaged/workflow-steps/source"),
    import("@uncaged/workflow-graph/source"),
    import("@uncaged/workflow-plan/source"),
  ]);
  const { host } = session;
  const find = findIn(session.project?.folder ?? session.cwd, async (name) => {
    const { documentsOf } = await import("@uncaged/workflow-steps/threads");
    const { hash } = await host.resolve(name);
    return documentsOf(hash, await host.descriptor(hash));
  });
  const warn = (warning: string) => session.note(`warning: ${warning}`);
  return [graphSource(warn), planSource(warn), stepsSource(warn, { find })];
}
