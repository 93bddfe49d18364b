import { join, resolve } from "node:path";
import { WorkflowError } from "../contract/error.ts";
import { show } from "../contract/show.ts";
import type { Environment, FileStat } from "../system/port.ts";
import { system } from "../system/system.ts";
import { diskError } from "./disk-error.ts";
import { makeFolder, writeFileAtomic } from "./files.ts";
import { bundlesDir, logsDir, namesIn, type Root, runDir } from "./paths.ts";

/** Environment variable for the path of the storage root. */
export const rootVariable = "UNCAGED_WORKFLOW_STORAGE_ROOT";

/** Environment variable for the cluster on which threads run. */
export const hostVariable = "UNCAGED_WORKFLOW_HOST";

/** Selects a storage root: a folder, else that of an environment (by default this process's), else a project's. */
export type RootOptions = {
  path?: string;
  env?: Environment;
  project?: { root: string; file: string } | null;
};

/**
 * Returns the storage root: `path`, else `UNCAGED_WORKFLOW_STORAGE_ROOT`, else the project's, else
 * `~/.uncaged/workflow`.
 *
 * Writes nothing: a missing root counts as empty, and {@link createRoot} makes it.
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

/** Makes the root and its missing folders, mode 0700. A new root is excluded from git. */
export function createRoot(root: Root): void {
  // Created last: if it exists, the others are durable.
  if (system.files.exists(runDir(root))) return;
  makeFolder(root);
  // A storage root does not belong in a repository.
  if (namesIn(root).length === 0) writeFileAtomic(join(root, ".gitignore"), "*\n");
  for (const folder of [bundlesDir(root), logsDir(root), runDir(root)]) makeFolder(folder);
}

/** The selected storage root, and the imperative for a hint to change it. */
type Chosen = { path: string; toChange: string };

function chosen({ path, env = process.env, project }: RootOptions): Chosen {
  const inVariable = `set ${rootVariable} to`;
  if (path !== undefined) return { path: inHome(path, env), toChange: "give" };
  const named = env[rootVariable];
  if (named) return { path: inHome(named, env), toChange: inVariable };
  if (project) return { path: project.root, toChange: `let "root" in ${project.file} be` };
  if (env.HOME) return { path: join(env.HOME, ".uncaged", "workflow"), toChange: inVariable };
  const hint = `set ${rootVariable} to a folder`;
  throw WorkflowError.usage("NO_HOME", "there is no storage root: HOME is not set", hint);
}

/** Expands `~` to the home folder, where a shell leaves it: in `--root=~/x` and in quotes. */
function inHome(path: string, { HOME }: Environment): string {
  if (path !== "~" && !path.startsWith("~/")) return path;
  if (HOME) return join(HOME, path.slice(1));
  const hint = "give the path without ~, or set HOME";
  throw WorkflowError.usage("NO_HOME", `${show(path)} can't be found: HOME is not set`, hint);
}

const longestPath = process.platform === "darwin" ? 1023 : 4095;
const longestName = "/logs/0000000000000/.00000000000000000000000000.journal.jsonl.00000000.tmp"
  .length;

/** Refuses a root from which no bundle could be loaded, or in which no log could be written. */
function checkPath(root: Root, toChange: string): void {
  const refuse = (what: string) => {
    const hint = `${toChange} another folder`;
    throw WorkflowError.failed("ROOT_UNUSABLE", `the storage root ${show(root)} ${what}`, hint);
  };
  // Bun parses `?` as the start of a query and `\` as a slash.
  const sign = /[?\\]/.exec(root);
  if (sign) refuse(`has a ${sign[0]} in its path, from which no bundle can be loaded`);
  const most = longestPath - longestName;
  if (Buffer.byteLength(root) > most) refuse(`has a path of more than ${most} bytes`);
}

function checkRoot(root: Root, found: FileStat, toChange: string): void {
  const refuse = (code: string, what: string, hint: string) =>
    WorkflowError.failed(code, `the storage root ${root} ${what}`, hint);
  if (!found.isDirectory()) {
    throw refuse("ROOT_NOT_A_FOLDER", "is not a folder", `${toChange} a folder`);
  }
  if (process.geteuid && found.uid !== process.geteuid()) {
    throw refuse("ROOT_NOT_OURS", "belongs to another user", `${toChange} a folder of your own`);
  }
  if ((found.mode & 0o022) === 0) return;
  // A folder that is not a storage root yet may be shared on purpose, like /tmp.
  const isOurs = system.files.exists(runDir(root));
  const hint = isOurs
    ? `run: chmod 700 ${root}`
    : `${toChange} a folder of its own: ${join(root, "uncaged")}`;
  throw refuse("ROOT_OPEN_TO_OTHERS", "can be written by other users", hint);
}
