import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, sep } from "node:path";
import { stepsSource } from "@uncaged/workflow-steps/source";
import {
  type Added,
  isWorkflowError,
  type Host,
  show,
  toErrorRecord,
  WorkflowError,
} from "@uncaged/workflow/host";

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
  host: Host,
  name: string,
  file: string,
  request: Request,
): Promise<Uploaded> {
  if (!fileName.test(file)) throw badFileName(file);
  return await addFiles(host, name, file, new Map([[file, await request.bytes()]]));
}

/**
 * Registers one of the files that were sent together, built with those of them that it imports or runs.
 * Errors and warnings name them as their sender does.
 *
 * @throws WorkflowError `TOO_MANY_UPLOADS`, and those of `checkFiles` and `Host.register`.
 */
export async function addFiles(
  host: Host,
  name: string,
  file: string,
  files: SentFiles,
): Promise<Uploaded> {
  checkFiles(files, file);
  return await withUpload(file, files, async (path, plain) => {
    const warnings: string[] = [];
    const steps = stepsSource((warning) => warnings.push(plain(warning)));
    const added = await host.register(name, path, { sources: [steps] });
    return { ...added, warnings };
  });
}

/**
 * Calls `use` with the path of a file that was sent, in a temporary folder with those beside it. `plain`
 * takes that folder out of a text, as it is taken out of errors.
 *
 * @throws WorkflowError `TOO_MANY_UPLOADS`, and those of `use`.
 */
export async function withUpload<T>(
  file: string,
  files: SentFiles,
  use: (path: string, plain: (text: string) => string) => Promise<T>,
): Promise<T> {
  if (atWork >= mostAtOnce) throw tooManyUploads();
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

/** Errors of what was sent are errors of the request. */
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

function tooManyUploads(): WorkflowError {
  return new WorkflowError({
    code: "TOO_MANY_UPLOADS",
    kind: "failed",
    message: `${mostAtOnce} files are being added, and that is the most`,
    hint: "try again when one is done",
  });
}

/** The files of one upload: their contents by their paths. */
type SentFiles = ReadonlyMap<string, string | Uint8Array>;

/** The most files of one upload. */
export const mostFiles = 1_000;

const mostPath = 512;
const mostPartBytes = 255;
// Without characters that some system gives a meaning to, and without invisible ones.
const plainPart = /^[^\p{C}\p{Zl}\p{Zp}\\/:*?"<>|]+$/u;
// https://learn.microsoft.com/windows/win32/fileio/naming-a-file: each is a device, whatever its ending.
const device = /^(con|prn|aux|nul|(com|lpt)[0-9¹²³])(\.|$)/i;
const unsent: ReadonlySet<string> = new Set(["node_modules", ".git"]);

/**
 * Checks that files have names that any system can store in one folder, and that `file`
 * is one of them.
 *
 * @throws WorkflowError `TOO_MANY_FILES`, `BAD_FILE_NAME`, `FILE_NOT_SENT` (usage).
 */
export function checkFiles(files: SentFiles, file: string): void {
  if (files.size > mostFiles) throw tooMany(files.size);
  const byFolded = new Map<string, string>();
  for (const path of files.keys()) {
    checkPath(path);
    const other = byFolded.get(folded(path));
    if (other !== undefined) throw bad(path, `differs only by case from ${show(other)}`);
    byFolded.set(folded(path), path);
  }
  for (const path of files.keys()) {
    const above = foldersOf(path).find((folder) => byFolded.has(folded(folder)));
    if (above !== undefined) throw bad(path, `is in ${show(above)}, which is a file too`);
  }
  if (!files.has(file)) throw notSent(file);
}

function checkPath(path: string): void {
  if (path.length > mostPath) throw bad(path, `is longer than ${mostPath} characters`);
  for (const part of path.split("/")) {
    if (unsent.has(part.toLowerCase())) throw bad(path, `is in ${part}, which is not sent`);
    const isPlain = plainPart.test(part) && !/^\.{1,2}$|[. ]$/.test(part) && !device.test(part);
    if (!isPlain || Buffer.byteLength(part) > mostPartBytes) {
      throw bad(path, "is no plain relative path");
    }
  }
}

const folded = (path: string): string => path.normalize("NFC").toLowerCase();

/** The folders that a path leads through: of `a/b/c.ts` `a` and `a/b`. */
function foldersOf(path: string): string[] {
  const parts = path.split("/");
  return parts.slice(1).map((_, n) => parts.slice(0, n + 1).join("/"));
}

/** Writes files that were checked into a folder. */
export async function writeFiles(folder: string, files: SentFiles): Promise<void> {
  for (const [path, content] of files) {
    const target = join(folder, path);
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    await writeFile(target, content, { flag: "wx", mode: 0o600 });
  }
}

function bad(path: string, why: string): WorkflowError {
  return new WorkflowError({
    code: "BAD_FILE_NAME",
    kind: "usage",
    message: `${show(path)} ${why}`,
    hint: "name the files by their paths in one folder, with slashes: lib/ask.ts",
  });
}

function tooMany(count: number): WorkflowError {
  return new WorkflowError({
    code: "TOO_MANY_FILES",
    kind: "usage",
    message: `${count} files were sent, ${mostFiles} are the most`,
    hint: "send only what the workflow imports",
  });
}

function notSent(file: string): WorkflowError {
  return new WorkflowError({
    code: "FILE_NOT_SENT",
    kind: "usage",
    message: `${show(file)} is not among the files`,
    hint: "name the workflow's own file by its path in files",
  });
}
