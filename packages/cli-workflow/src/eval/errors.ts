import { WorkflowError } from "@uncaged/workflow/host";
import { show } from "@uncaged/workflow/internal";

/* The errors of fixtures and scorers. */

export const fixtureNotFound = (id: string, path: string): WorkflowError =>
  WorkflowError.missing(
    "FIXTURE_NOT_FOUND",
    `no fixture of the case ${show(id)} found: ${path}`,
    "export a fixture: uncaged-workflow thread <id> --fixture; or leave out --fixtures to execute the roles",
  );

export const badFixture = (path: string, problem: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_FIXTURE",
    `${path}: ${problem}`,
    "export the fixture again: uncaged-workflow thread <id> --fixture",
  );

export const otherFixture = (
  id: string,
  { found, wanted }: { found: string; wanted: string },
): WorkflowError =>
  WorkflowError.usage(
    "OTHER_FIXTURE",
    `the fixture of the case ${show(id)} belongs to the workflow ${show(found)}, not to ${show(wanted)}`,
    `export a fixture of a thread of ${wanted}`,
  );

export const scorerBroken = (file: string, problem: string): WorkflowError =>
  WorkflowError.failed(
    "SCORER_BROKEN",
    `${show(file)} is not a scorer: ${problem}`,
    "export a function: export default (one, thread) => thread.result?.summary === one.expected",
  );

export const scorerTimeout = (limit: string): WorkflowError =>
  WorkflowError.failed(
    "SCORER_TIMEOUT",
    `the scorer took longer than ${limit}`,
    "allow more time: --score-timeout 5m",
  );
