import { realpathSync } from "node:fs";
import { basename, delimiter, dirname, join } from "node:path";

const name = "uncaged-workflow";

/** Returns this program's file: the file of its package, or the standalone binary itself. */
export const ownFile = (): string =>
  Bun.isStandaloneExecutable ? process.execPath : join(dirname(Bun.main), "../bin", name);

/**
 * Returns the words that call this program in a folder whose `node_modules` links to it: its name if the PATH contains
 * it, else its name through npx, which uses `node_modules`. Without npx, and for a standalone binary, returns the path
 * of the program's file.
 */
export function ownCommand(env: Readonly<Record<string, string>>): string {
  const folders = (env.PATH ?? "").split(delimiter);
  // npx and npm add folders to this process's PATH that are not on the user's PATH.
  const PATH = folders.filter((folder) => !isOfNpm(folder)).join(delimiter);
  if (isSame(Bun.which(name, { PATH }), ownFile())) return name;
  if (!Bun.isStandaloneExecutable && Bun.which("npx", { PATH })) return `npx ${name}`;
  return shellWord(ownFile());
}

/** Returns the command line with which another program starts this program, and the files and folders of its code. */
export function ownProgram(): { argv: string[]; folders: string[] } {
  const { execPath } = process;
  if (Bun.isStandaloneExecutable) return { argv: [execPath], folders: [execPath] };
  const home = realpathSync(join(dirname(Bun.main), ".."));
  const isSource = Bun.main.endsWith(".ts");
  // A built program has all its code in its package; a source file belongs to a workspace.
  const folders = isSource
    ? ["packages", "apps", "node_modules"].map((folder) => join(home, "../..", folder))
    : [home];
  const config = `--config=${join(home, "bin/bunfig.toml")}`;
  const argv = [execPath, "--no-env-file", "--no-install", config, Bun.main];
  return { argv, folders: [execPath, ...folders] };
}

const isOfNpm = (folder: string): boolean =>
  basename(folder) === ".bin" && basename(dirname(folder)) === "node_modules";

function isSame(found: string | null, own: string): boolean {
  try {
    return found !== null && realpathSync(found) === realpathSync(own);
  } catch {
    return false;
  }
}

/** Quotes a text as one word for a shell. */
export const shellWord = (path: string): string =>
  /^[\w./+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
