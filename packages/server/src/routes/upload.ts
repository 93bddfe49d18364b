import { mkdir, realpath, rm, writeFile } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { graphSource } from "@uncaged/workflow-graph/source";
import { planSource } from "@uncaged/workflow-plan/source";
import { stepsSource } from "@uncaged/workflow-steps/source";
import { isWorkflowError, type Host, WorkflowError } from "@uncaged/workflow/host";
import { makeTemporary, show } from "@uncaged/workflow/internal";
import { rewritten } from "../guard/error-response.ts";
import { badFileName, fileNotSent, tooManyFiles, tooManyUploads } from "./errors.ts";

type SentFiles = ReadonlyMap<string, string | Uint8Array>;

const mostAtOnce = 4;
let atWork = 0;

/**
 * Registers one of the uploaded files: a bundle, or a source that is built first, with the files that it imports or
 * runs. Errors and warnings use the client's file names. `expected` is the version that must be current, or
 * null for a new name.
 */
export async function addFiles(
  host: Host,
  name: string,
  file: string,
  files: SentFiles,
  expected?: string | null,
) {
  checkFiles(files, file);
  return await withUpload(file, files, async (path, plain) => {
    const warnings: string[] = [];
    const warn = (warning: string) => void warnings.push(plain(warning));
    const sources = [graphSource(warn), planSource(warn), stepsSource(warn, { isClosed: true })];
    const within = path.slice(0, -file.length);
    const added = await host.register(name, path, { sources, within, expected });
    return { ...added, warnings };
  });
}

/**
 * Calls `use` with the path of an uploaded file, in a temporary folder with the other files. `plain` removes that
 * folder's path from a text. Errors don't contain the path.
 */
export async function withUpload<T>(
  file: string,
  files: SentFiles,
  use: (path: string, plain: (text: string) => string) => Promise<T>,
): Promise<T> {
  if (atWork >= mostAtOnce) throw tooManyUploads(mostAtOnce);
  atWork += 1;
  let made = "";
  let plain = (text: string) => text;
  try {
    made = makeTemporary("uncaged-upload-");
    // Builds report paths without symbolic links.
    const folder = (await realpath(made)) + sep;
    plain = (text) => text.replaceAll(folder, "");
    await writeFiles(folder, files);
    return await use(folder + file, plain);
  } catch (error) {
    throw isWorkflowError(error) ? asSent(error, plain) : error;
  } finally {
    atWork -= 1;
    if (made !== "") await rm(made, { recursive: true, force: true });
  }
}

function asSent(error: WorkflowError, plain: (text: string) => string): WorkflowError {
  const record = rewritten(error, plain);
  const kind = faulty.has(record.code) ? "usage" : record.kind;
  const hint = / Could not resolve: /.test(record.message) ? unresolvedHint : record.hint;
  return new WorkflowError({ ...record, kind, hint });
}

/** Error codes that become usage errors, because the uploaded files caused them. */
const faulty: ReadonlySet<string> = new Set([
  "BAD_DESCRIPTOR",
  "BUILD_FAILED",
  "BUNDLE_LOAD_FAILED",
  "BUNDLE_REFUSED",
  "GRAPH_INVALID",
  "STEPS_INVALID",
  "SUBFLOW_CYCLE",
  "SUBFLOW_MISSING",
  "SUBFLOW_TOO_DEEP",
]);

const unresolvedHint =
  "add the imported files; if they import packages other than uncaged-workflow's own, " +
  "build the workflow in a folder with these packages: uncaged-workflow build <file>";

export const mostFiles = 1_000;

const mostPath = 512;
const mostPartBytes = 255;
// Excludes invisible characters and characters that are special on any system.
const plainPart = /^[^\p{C}\p{Zl}\p{Zp}\\/:*?"<>|]+$/u;
// https://learn.microsoft.com/windows/win32/fileio/naming-a-file: device names, with any extension.
const device = /^(con|prn|aux|nul|(com|lpt)[0-9¹²³])(\.|$)/i;
const unsent: ReadonlySet<string> = new Set(["node_modules", ".git"]);

/** Checks that every operating system can store the files in one folder, and that `file` is among the files. */
export function checkFiles(files: SentFiles, file: string): void {
  if (files.size > mostFiles) throw tooManyFiles(files.size, mostFiles);
  const byFolded = new Map<string, string>();
  for (const path of files.keys()) {
    checkPath(path);
    const other = byFolded.get(folded(path));
    if (other !== undefined) throw badFileName(path, `differs only by case from ${show(other)}`);
    byFolded.set(folded(path), path);
  }
  for (const path of files.keys()) {
    for (let above = dirname(path); above !== "."; above = dirname(above)) {
      if (byFolded.has(folded(above)))
        throw badFileName(path, `is in ${show(above)}, which is also a file`);
    }
  }
  if (!files.has(file)) throw fileNotSent(file);
}

function checkPath(path: string): void {
  if (path.length > mostPath) throw badFileName(path, `is longer than ${mostPath} characters`);
  for (const part of path.split("/")) {
    if (unsent.has(part.toLowerCase())) throw badFileName(path, `is in ${part}, which is not sent`);
    const isPlain = plainPart.test(part) && !/^\.{1,2}$|[. ]$/.test(part) && !device.test(part);
    if (!isPlain || Buffer.byteLength(part) > mostPartBytes) {
      throw badFileName(path, "is not a plain relative path");
    }
  }
}

const folded = (path: string): string => path.normalize("NFC").toLowerCase();

export async function writeFiles(folder: string, files: SentFiles): Promise<void> {
  for (const [path, content] of files) {
    const target = join(folder, path);
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    await writeFile(target, content, { flag: "wx", mode: 0o600 });
  }
}
