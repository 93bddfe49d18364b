import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, sep } from "node:path";
import {
  type Added,
  addWorkflow,
  isWorkflowError,
  type Root,
  show,
  toErrorRecord,
  WorkflowError,
} from "@uncaged/workflow/host";
import { stepsSource } from "@uncaged/workflow-steps/source";
import { checkFiles, type SentFiles, writeFiles } from "./sent-files.ts";

const mostAtOnce = 4;
const fileName = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;
let atWork = 0;

/** What was registered; `warnings` are those of a step workflow's check. */
type Uploaded = Added & { warnings: string[] };

/**
 * Registers a file that was sent: a bundle, or a source that is built first.
 *
 * @throws WorkflowError `BAD_FILE_NAME` (usage), and those of {@link addFiles}.
 */
export async function addUpload(
  root: Root,
  name: string,
  file: string,
  request: Request,
): Promise<Uploaded> {
  if (!fileName.test(file)) throw badFileName(file);
  return await addFiles(root, name, file, new Map([[file, await request.bytes()]]));
}

/**
 * Registers one of the files that were sent together, built with those of them that it imports or runs.
 * Errors and warnings name them as their sender does.
 *
 * @throws WorkflowError `TOO_MANY_UPLOADS`, and those of `checkFiles` and `addWorkflow`.
 */
export async function addFiles(
  root: Root,
  name: string,
  file: string,
  files: SentFiles,
): Promise<Uploaded> {
  checkFiles(files, file);
  return await withUpload(file, files, async (path, plain) => {
    const warnings: string[] = [];
    const steps = stepsSource((warning) => warnings.push(plain(warning)));
    const added = await addWorkflow(root, name, path, { sources: [steps] });
    return { ...added, warnings };
  });
}

/**
 * Has something done with a file that was sent, and those beside it. They lie in a folder of their own
 * for as long as that takes; `plain` takes that folder out of a text, as it is taken out of errors.
 *
 * @throws WorkflowError `TOO_MANY_UPLOADS`, and those of `use`.
 */
export async function withUpload<T>(
  file: string,
  files: SentFiles,
  use: (path: string, plain: (text: string) => string) => Promise<T>,
): Promise<T> {
  if (atWork >= mostAtOnce) throw tooMany();
  atWork += 1;
  try {
    return await inFolder(async (folder) => {
      await writeFiles(folder, files);
      return await use(folder + file, (text) => text.replaceAll(folder, ""));
    });
  } finally {
    atWork -= 1;
  }
}

// A build names files by their real paths, and so must the folder be; it ends with a slash.
async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const made = await mkdtemp(join(tmpdir(), "uncaged-upload-"));
  const folder = (await realpath(made)) + sep;
  try {
    return await use(folder);
  } catch (error) {
    throw asSent(error, folder);
  } finally {
    await rm(made, { recursive: true, force: true });
  }
}

function asSent(error: unknown, folder: string): unknown {
  if (!isWorkflowError(error)) return error;
  const plain = (text: string) => text.replaceAll(folder, "");
  const record = toErrorRecord(error);
  const message = plain(record.message);
  const hint = unresolved.test(message) ? unresolvedHint : record.hint;
  return new WorkflowError({
    ...record,
    kind: faulty.has(record.code) ? "usage" : record.kind,
    message,
    ...(hint !== undefined && { hint: plain(hint) }),
    ...(record.details && { details: record.details.map(plain) }),
  });
}

/** What is wrong with what was sent is wrong with the request. */
const faulty: ReadonlySet<string> = new Set([
  "BAD_DESCRIPTOR",
  "BUILD_FAILED",
  "BUNDLE_LOAD_FAILED",
  "BUNDLE_REFUSED",
  "STEPS_INVALID",
  "SUBFLOW_CYCLE",
  "SUBFLOW_MISSING",
  "SUBFLOW_TOO_DEEP",
]);

const unresolved = /: Could not resolve: /;
const unresolvedHint =
  "add the files that are imported; with packages other than ours " +
  "it is built where they are installed: uncaged-workflow build <file>";

function badFileName(file: string): WorkflowError {
  return new WorkflowError({
    code: "BAD_FILE_NAME",
    kind: "usage",
    message: `${show(file)} can't be the file's name`,
    hint: "give a plain name: review.ts, or review.esm.js",
  });
}

function tooMany(): WorkflowError {
  return new WorkflowError({
    code: "TOO_MANY_UPLOADS",
    kind: "failed",
    message: `${mostAtOnce} files are being added, and that is the most`,
    hint: "try again when one is done",
  });
}
