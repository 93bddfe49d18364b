import { mkdtemp, rm, writeFile } from "node:fs/promises";
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

const mostAtOnce = 4;
const fileName = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;
let atWork = 0;

/** What was registered; `warnings` are those of a step workflow's check. */
type Uploaded = Added & { warnings: string[] };

/**
 * Registers a file that was sent: a bundle, or a source that is built first. Errors and warnings name it
 * as its sender does.
 *
 * @throws WorkflowError `BAD_FILE_NAME` (usage), `TOO_MANY_UPLOADS`, and those of `addWorkflow`.
 */
export async function addUpload(
  root: Root,
  name: string,
  file: string,
  request: Request,
): Promise<Uploaded> {
  if (!fileName.test(file)) throw badFileName(file);
  return await withUpload(file, await request.bytes(), async (path, plain) => {
    const warnings: string[] = [];
    const steps = stepsSource((warning) => warnings.push(plain(warning)));
    const added = await addWorkflow(root, name, path, { sources: [steps] });
    return { ...added, warnings };
  });
}

/**
 * Has something done with a file that was sent. It lies in a folder of its own for as long as that
 * takes; `plain` takes that folder out of a text, as it is taken out of errors.
 *
 * @throws WorkflowError `TOO_MANY_UPLOADS`, and those of `use`.
 */
export async function withUpload<T>(
  file: string,
  bytes: Uint8Array,
  use: (path: string, plain: (text: string) => string) => Promise<T>,
): Promise<T> {
  if (atWork >= mostAtOnce) throw tooMany();
  atWork += 1;
  const folder = await mkdtemp(join(tmpdir(), "uncaged-upload-"));
  try {
    const path = join(folder, file);
    await writeFile(path, bytes, { mode: 0o600 });
    return await use(path, (text) => text.replaceAll(folder + sep, ""));
  } catch (error) {
    throw asSent(error, folder + sep);
  } finally {
    atWork -= 1;
    await rm(folder, { recursive: true, force: true });
  }
}

function asSent(error: unknown, folder: string): unknown {
  if (!isWorkflowError(error)) return error;
  const plain = (text: string) => text.replaceAll(folder, "");
  const record = toErrorRecord(error);
  return new WorkflowError({
    ...record,
    message: plain(record.message),
    ...(record.hint !== undefined && { hint: plain(record.hint) }),
    ...(record.details && { details: record.details.map(plain) }),
  });
}

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
