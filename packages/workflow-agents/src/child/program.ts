import { accessSync, closeSync, constants, openSync, readSync, statSync } from "node:fs";
import { delimiter, resolve, sep } from "node:path";

const usualFolders = ["/usr/local/bin", "/usr/bin", "/bin"].join(delimiter);

/**
 * Returns the path by which execvp(3) would start a program.
 * @throws an error with the code `ENOENT` for a missing program or interpreter, `EACCES` for a file that may not be
 *   run.
 */
export function programPath(
  name: string,
  cwd: string,
  { PATH = usualFolders }: Readonly<Record<string, string>>,
): string {
  if (name.includes("\0")) return name;
  const folders = name.includes(sep) ? ["."] : PATH.split(delimiter);
  let refusal = failed("ENOENT", name);
  for (const folder of name === "" ? [] : folders) {
    const path = resolve(cwd, folder, name);
    const code = problemOf(path);
    if (code === null) {
      checkInterpreter(path, cwd);
      return path;
    }
    if (code === "EACCES") refusal = failed(code, path);
  }
  throw refusal;
}

function problemOf(path: string): "ENOENT" | "EACCES" | null {
  try {
    if (!statSync(path).isFile()) return "EACCES";
    accessSync(path, constants.X_OK);
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EACCES" ? "EACCES" : "ENOENT";
  }
}

const longestLine = 256;

function checkInterpreter(path: string, cwd: string): void {
  const interpreter = /^#![ \t]*([^ \t\n]+)/.exec(headOf(path))?.[1];
  const code = interpreter === undefined ? null : problemOf(resolve(cwd, interpreter));
  if (code !== null) throw failed(code, `${path}: ${interpreter}`);
}

/** Returns the start of a file, or "" for a file that is executable but not readable. */
function headOf(path: string): string {
  const head = Buffer.alloc(longestLine);
  try {
    const file = openSync(path, "r");
    try {
      return head.toString("latin1", 0, readSync(file, head, 0, longestLine, 0));
    } finally {
      closeSync(file);
    }
  } catch {
    return "";
  }
}

const failed = (code: string, what: string): NodeJS.ErrnoException =>
  Object.assign(new Error(`${code}: ${what}`), { code });
