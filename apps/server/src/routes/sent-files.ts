import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { show, WorkflowError } from "@uncaged/workflow/host";

/** The files of one upload: their paths from its folder, and what stands in them. */
export type SentFiles = ReadonlyMap<string, string | Uint8Array>;

/** The most files of one upload. */
export const mostFiles = 1_000;

const mostPath = 512;
const mostPartBytes = 255;
// What some system takes for more than a part of a name, and what can't be seen.
const plainPart = /^[^\p{C}\p{Zl}\p{Zp}\\/:*?"<>|]+$/u;
// https://learn.microsoft.com/windows/win32/fileio/naming-a-file: each is a device, whatever its ending.
const device = /^(con|prn|aux|nul|(com|lpt)[0-9¹²³])(\.|$)/i;
const unsent: ReadonlySet<string> = new Set(["node_modules", ".git"]);

/**
 * Checks that files can lie in a folder of their own as they are named, on any system, and that `file`
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
    if (above !== undefined) throw bad(path, `lies in ${show(above)}, which is a file too`);
  }
  if (!files.has(file)) throw notSent(file);
}

function checkPath(path: string): void {
  if (path.length > mostPath) throw bad(path, `is longer than ${mostPath} characters`);
  for (const part of path.split("/")) {
    if (unsent.has(part.toLowerCase())) throw bad(path, `lies in ${part}, which is not sent`);
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
