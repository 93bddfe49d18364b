import { join, resolve } from "node:path";
import type { Environment, FileStat } from "../system/port.ts";
import { system } from "../system/system.ts";
import { diskError } from "./disk-error.ts";
import { makeFolder, writeFileAtomic } from "./files.ts";
import { bundlesDir, logsDir, namesIn, type Root, runDir } from "./paths.ts";
import {
  badRootPath,
  longRootPath,
  noHome,
  noHomeFor,
  rootNotAFolder,
  rootNotOurs,
  rootOpen,
} from "./errors.ts";

/** Name of the environment variable for the path of the storage root. */
export const rootVariable = "UNCAGED_WORKFLOW_STORAGE_ROOT";

/** Name of the environment variable for the host of threads, such as the URL of a cluster. */
export const hostVariable = "UNCAGED_WORKFLOW_HOST";

/**
 * Selects a storage root: `path`, else the folder in the variable of `env` (by default, this process's environment),
 * else the folder of a project.
 */
export type RootOptions = {
  path?: string;
  env?: Environment;
  project?: { root: string; file: string } | null;
};

/**
 * Returns the storage root: `path`, else `UNCAGED_WORKFLOW_STORAGE_ROOT`, else the project's root, else
 * `~/.uncaged/workflow`.
 *
 * Does not write: a missing root counts as empty, and {@link createRoot} makes it.
 *
 * @throws WorkflowError `NO_HOME`, `ROOT_UNUSABLE`, `ROOT_NOT_A_FOLDER`, `ROOT_NOT_OURS`, `ROOT_OPEN_TO_OTHERS`.
 */
export function openRoot(options: RootOptions = {}): Root {
  const { path, toChange } = chosen(options);
  const root = resolve(path) as Root;
  checkPath(root, toChange);
  try {
    const found = system.files.stat(root);
    if (found) checkRoot(root, found, toChange);
  } catch (error) {
    throw diskError(error, "open the storage root", root);
  }
  return root;
}

/** Makes the root and its missing folders, with mode 0700. Excludes a new root from git. */
export function createRoot(root: Root): void {
  // The folder `run` is created last: if it exists, the other folders are durable.
  if (system.files.exists(runDir(root))) return;
  makeFolder(root);
  if (namesIn(root).length === 0) writeFileAtomic(join(root, ".gitignore"), "*\n");
  for (const folder of [bundlesDir(root), logsDir(root), runDir(root)]) makeFolder(folder);
}

/** The selected storage root. `toChange`: the beginning of a hint that selects another root. */
type Chosen = { path: string; toChange: string };

function chosen({ path, env = process.env, project }: RootOptions): Chosen {
  const inVariable = `set ${rootVariable} to`;
  if (path !== undefined) return { path: inHome(path, env), toChange: "give" };
  const named = env[rootVariable];
  if (named) return { path: inHome(named, env), toChange: inVariable };
  if (project) return { path: project.root, toChange: `set "root" in ${project.file} to` };
  if (env.HOME) return { path: join(env.HOME, ".uncaged", "workflow"), toChange: inVariable };
  throw noHome(rootVariable);
}

/** Expands a `~` to the home folder: a shell does not expand it in `--root=~/x` and in quotes. */
function inHome(path: string, { HOME }: Environment): string {
  if (path !== "~" && !path.startsWith("~/")) return path;
  if (HOME) return join(HOME, path.slice(1));
  throw noHomeFor(path);
}

const longestPath = process.platform === "darwin" ? 1023 : 4095;
const longestName = "/logs/0000000000000/.00000000000000000000000000.journal.jsonl.00000000.tmp"
  .length;

/** Refuses a root from which bundles can't be loaded, or in which logs can't be written. */
function checkPath(root: Root, toChange: string): void {
  // Bun parses `?` as the start of a query and `\` as a slash.
  const sign = /[?\\]/.exec(root);
  if (sign) throw badRootPath(root, sign[0], toChange);
  const most = longestPath - longestName;
  if (Buffer.byteLength(root) > most) throw longRootPath(root, most, toChange);
}

function checkRoot(root: Root, found: FileStat, toChange: string): void {
  if (!found.isDirectory()) throw rootNotAFolder(root, toChange);
  if (process.geteuid && found.uid !== process.geteuid()) throw rootNotOurs(root, toChange);
  if ((found.mode & 0o022) === 0) return;
  // A folder that is not a storage root yet, such as /tmp, must keep its mode: suggest another folder.
  const isOurs = system.files.exists(runDir(root));
  const hint = isOurs
    ? `run: chmod 700 ${root}`
    : `${toChange} a folder of its own: ${join(root, "uncaged")}`;
  throw rootOpen(root, hint);
}
