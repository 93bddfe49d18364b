import { WorkflowError } from "@uncaged/workflow/host";
import { foundProblems } from "@uncaged/workflow/internal";

/* The errors of an eval and its files. */

const datasetHint = 'each line is a JSON object: {"id": …, "prompt": "…", "expected": …}';

export const badDataset = (problems: string[]): WorkflowError =>
  new WorkflowError({
    code: "BAD_DATASET",
    kind: "usage",
    hint: datasetHint,
    ...foundProblems(problems),
  });

export const noCases = (file: string): WorkflowError =>
  WorkflowError.usage("BAD_DATASET", `${file} has no cases`, datasetHint);

export const evalDamaged = (path: string, line: number, cause: unknown): WorkflowError =>
  WorkflowError.failed(
    "EVAL_DAMAGED",
    `${path}:${line}: invalid JSON: the record of the eval is damaged`,
    "correct the line, or move the folder away to start the eval again",
    cause,
  );

export const evalRunning = (id: string): WorkflowError =>
  WorkflowError.failed(
    "EVAL_RUNNING",
    `another process runs the eval ${id}`,
    "wait for that process; or end it, and start this eval again to continue",
  );

export const fixtureUnsupported = (
  { workflow, hash }: { workflow: string; hash: string },
  message: string,
): WorkflowError =>
  WorkflowError.failed(
    "FIXTURE_UNSUPPORTED",
    `${workflow}@${hash}: ${message}`,
    "register it again, or give a data set without fixtures",
  );
