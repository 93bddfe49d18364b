import { nearestName } from "@uncaged/workflow/document";
import type { ErrorRecord, Project } from "@uncaged/workflow/host";
import { show } from "@uncaged/workflow/internal";
import { exitCodes } from "../output/exit-code.ts";
import { wrongUse } from "../session/errors.ts";
import { errorEnvelope, errorText, recordOf } from "../session/failure.ts";
import type { Session } from "../session/session.ts";
import { noProject, notListed, nothingListed } from "./errors.ts";

/** A workflow that the project lists, and the path of its source. */
export type Listed = { name: string; file: string };

/** All workflows that the project lists, in the order of its file. @throws WorkflowError `NO_PROJECT` (usage), `NOTHING_LISTED`. */
export function listedWorkflows(session: Session): Listed[] {
  const { file, workflows } = projectOf(session);
  const listed = Object.entries(workflows).map(([name, path]) => ({ name, file: path }));
  if (listed.length > 0) return listed;
  throw nothingListed(file);
}

/** The path of the source that the project lists by this name. @throws WorkflowError `NOT_LISTED` (missing), `NO_PROJECT`. */
export function listedSource(session: Session, name: string): string {
  const source = sourceListed(session, name);
  if (source !== null) return source;
  if (/[./]/.test(name)) {
    const hint = `give it one: uncaged-workflow add <name> ${name}`;
    throw wrongUse(`the workflow of ${show(name)} has no name`, hint);
  }
  const { file, workflows } = projectOf(session);
  throw notListed(file, name, nearestName(name, Object.keys(workflows)));
}

/** The paths that a project lists, by name, for a hint: none without a valid project. */
function listedFor(session: Session): Record<string, string> {
  try {
    return session.project?.workflows ?? {};
  } catch {
    return {};
  }
}

/** The path of the source that the project lists by this name, if any. */
export function sourceListed(session: Session, name: string): string | null {
  const workflows = listedFor(session);
  return Object.hasOwn(workflows, name) ? (workflows[name] ?? null) : null;
}

/** Whether there is a project that lists workflows. */
export const isListing = (session: Session): boolean => Object.keys(listedFor(session)).length > 0;

function projectOf({ project }: Session): Project {
  if (project) return project;
  throw noProject();
}

type Failed = { name: string } & ReturnType<typeof errorEnvelope>;

/**
 * Applies an action to several workflows and returns the results. A failure does not stop the next: its error is
 * reported with the workflow's name, and the first error decides the exit code.
 */
export async function forEachListed<Result extends object>(
  session: Session,
  listed: readonly Listed[],
  act: (one: Listed) => Promise<Result>,
): Promise<{ results: (Result | Failed)[]; exitCode: number }> {
  const results: (Result | Failed)[] = [];
  let exitCode: number = exitCodes.done;
  for (const one of listed) {
    try {
      results.push(await act(one));
    } catch (thrown) {
      const error = recordOf(thrown);
      if (error.code === "INTERNAL") throw thrown;
      const { name } = one;
      results.push({ name, ...errorEnvelope(error) });
      if (!session.json) session.output.notes.write(errorText(named(name, error)));
      exitCode ||= exitCodes[error.kind];
    }
  }
  return { results, exitCode };
}

const named = (name: string, { message, details, ...error }: ErrorRecord): ErrorRecord => ({
  ...error,
  message: `${name}: ${message}`,
  ...(details && { details: details.map((line) => `${name}: ${line}`) }),
});
