import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { nearestName } from "@uncaged/workflow/document";
import type { ErrorRecord, Project } from "@uncaged/workflow/host";
import { show } from "@uncaged/workflow/internal";
import { exitCodes } from "../output/exit-code.ts";
import { wrongUse } from "../session/errors.ts";
import { errorEnvelope, errorText, recordOf } from "../session/failure.ts";
import type { Session } from "../session/session.ts";
import { noProject, noSuchFile, notListed, nothingListed } from "./errors.ts";

/** A workflow listed by the project, with the path of its source. */
export type Listed = { name: string; file: string };

/**
 * Returns all workflows listed by the project, in the order of the project file.
 * @throws WorkflowError `NO_PROJECT` (usage), `NOTHING_LISTED`.
 */
export function listedWorkflows(session: Session): Listed[] {
  const { file, workflows } = projectOf(session);
  const listed = Object.entries(workflows).map(([name, path]) => ({ name, file: path }));
  if (listed.length > 0) return listed;
  throw nothingListed(file);
}

/**
 * Returns the workflow that the project lists under a name, or with a file as its source.
 * @throws WorkflowError `NOT_LISTED`, `NO_SUCH_FILE` (missing), `NO_PROJECT`.
 */
export function listedOne(session: Session, name: string): Listed {
  const source = sourceListed(session, name);
  if (source !== null) return { name, file: source };
  if (/[./]/.test(name)) {
    const path = resolve(session.cwd, name);
    const listed = Object.entries(listedFor(session)).find(([, file]) => file === path);
    if (listed) return { name: listed[0], file: name };
    if (!existsSync(path)) throw noSuchFile(name);
    const hint = `name the workflow: uncaged-workflow add <name> ${name}`;
    throw wrongUse(`missing name for the workflow of ${show(name)}`, hint);
  }
  const { file, workflows } = projectOf(session);
  throw notListed(file, name, nearestName(name, Object.keys(workflows)));
}

/** Returns the paths listed by the project, by name, for a hint. Empty without a valid project. */
function listedFor(session: Session): Record<string, string> {
  try {
    return session.project?.workflows ?? {};
  } catch {
    return {};
  }
}

/** Returns the path of the source that the project lists under a name; null if the project lists no such name. */
export function sourceListed(session: Session, name: string): string | null {
  const workflows = listedFor(session);
  return Object.hasOwn(workflows, name) ? (workflows[name] ?? null) : null;
}

/** Tells whether a project lists workflows. */
export const isListing = (session: Session): boolean => Object.keys(listedFor(session)).length > 0;

function projectOf({ project }: Session): Project {
  if (project) return project;
  throw noProject();
}

type Failed = { name: string } & ReturnType<typeof errorEnvelope>;

/**
 * Applies an action to several workflows and returns the results. Continues after a failure and reports each error
 * with the workflow's name. The first error sets the exit code.
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
