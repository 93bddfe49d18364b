import { WorkflowError } from "@uncaged/workflow/host";
import { show } from "@uncaged/workflow/internal";

/* The errors of the routes of threads, workflows and evals. */

export const noAnswerValue = (): WorkflowError =>
  WorkflowError.usage("BAD_REQUEST", "value: missing", 'send {"value": "approve"}');

export const noDocument = (workflow: string): WorkflowError =>
  WorkflowError.missing(
    "NO_DOCUMENT",
    `${workflow} was not built from an agent graph or a step workflow`,
    "see its source: /api/bundles/{workflow}/source",
  );

export const noProviderKey = (variable: string): WorkflowError =>
  WorkflowError.failed(
    "NO_PROVIDER_KEY",
    `${variable} is required to run workflows with Agent nodes.`,
    "set it in the environment of the server, or in the .env of the project that it serves",
  );

export const evalNotFound = (id: string): WorkflowError =>
  WorkflowError.missing(
    "EVAL_NOT_FOUND",
    `no eval ${show(id)} found`,
    "run one: uncaged-workflow eval <workflow> <dataset> --score <file>",
  );

export const versionNotFound = (evalId: string, version: string): WorkflowError =>
  WorkflowError.missing(
    "VERSION_NOT_FOUND",
    `the eval ${evalId} has no version ${show(version)}`,
    "choose one of its versions",
  );

export const tooManyThreads = (most: number): WorkflowError =>
  WorkflowError.usage(
    "TOO_MANY_THREADS",
    `a stream follows at most ${most} threads`,
    "open another stream",
  );

export const tooManyUploads = (most: number): WorkflowError =>
  WorkflowError.failed(
    "TOO_MANY_UPLOADS",
    `${most} files are being added, which is the limit`,
    "try again when one is done",
  );

export const tooManyFiles = (sent: number, most: number): WorkflowError =>
  WorkflowError.usage(
    "TOO_MANY_FILES",
    `${sent} files were sent; the limit is ${most}`,
    "send only the files that the workflow imports",
  );

export const fileNotSent = (file: string): WorkflowError =>
  WorkflowError.usage(
    "FILE_NOT_SENT",
    `${show(file)} is not among the files`,
    "name the workflow's own file by its path in files",
  );

export const badFileName = (path: string, problem: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_FILE_NAME",
    `${show(path)} ${problem}`,
    "name the files by their paths in one folder, with slashes: lib/ask.ts",
  );
