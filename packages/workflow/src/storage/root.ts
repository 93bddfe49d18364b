import { join, resolve } from "node:path";
import { WorkflowError } from "../contract/error.ts";
import { show } from "../contract/show.ts";
import type { FileStat } from "../system/port.ts";
import { system } from "../system/system.ts";
import { diskError } from "./disk-error.ts";
import { makeFolder } from "./files.ts";
import { bundlesDir, logsDir, type Root, runDir } from "./paths.ts";

/** The environment variable that moves the storage root. */
export const rootVariable = "UNCAGED_WORKFLOW_STORAGE_ROOT";

type Environment = Readonly<Record<string, string | undefined>>;

/** Which storage root: a folder, or the one that an environment names; that of this process without it. */
export type RootOptions = { path?: string; env?: Environment };

/**
 * The storage root: `path`, else `UNCAGED_WORKFLOW_STORAGE_ROOT`, else `~/.uncaged/workflow`.
 *
 * Writes nothing: a root that does not exist yet is an empty one, and {@link createRoot} makes it.
 * @throws WorkflowError `NO_HOME`, `ROOT_UNUSABLE`, `ROOT_NOT_A_FOLDER`, `ROOT_NOT_OURS`, `ROOT_OPEN_TO_OTHERS`.
 */
export function openRoot({ path, env = process.env }: RootOptions = {}): Root {
  const root = resolve(path ?? fromEnvironment(env)) as Root;
  checkPath(root);
  try {
    const found = system.files.stat(root);
    if (found) checkRoot(root, found);
  } catch (error) {
    throw diskError(error, "open the storage root", root);
  }
  return root;
}

/** Makes the root and its folders, mode 0700, where they are missing. */
export function createRoot(root: Root): void {
  // The last to be made: where it is, the others are durable.
  if (system.files.exists(runDir(root))) return;
  for (const folder of [root, bundlesDir(root), logsDir(root), runDir(root)]) makeFolder(folder);
}

function fromEnvironment(env: Environment): string {
  const named = env[rootVariable];
  if (named) return named;
  if (env.HOME) return join(env.HOME, ".uncaged", "workflow");
  const hint = `set ${rootVariable} to a folder`;
  throw WorkflowError.usage("NO_HOME", "there is no storage root: HOME is not set", hint);
}

const longestPath = process.platform === "darwin" ? 1023 : 4095;
const longestName = "/logs/0000000000000/.00000000000000000000000000.values.jsonl.00000000.tmp"
  .length;

/** Refuses a root from which no bundle could be loaded, or in which no log could be written. */
function checkPath(root: Root): void {
  const refuse = (what: string) => {
    const hint = `set ${rootVariable} to another folder`;
    throw WorkflowError.failed("ROOT_UNUSABLE", `the storage root ${show(root)} ${what}`, hint);
  };
  // Bun takes the one for the beginning of a query and the other for a slash.
  const sign = /[?\\]/.exec(root);
  if (sign) refuse(`has a ${sign[0]} in its path, from which no bundle can be loaded`);
  const most = longestPath - longestName;
  if (Buffer.byteLength(root) > most) refuse(`has a path of more than ${most} bytes`);
}

function checkRoot(root: Root, found: FileStat): void {
  const refuse = (code: string, what: string, hint: string) =>
    WorkflowError.failed(code, `the storage root ${root} ${what}`, hint);
  if (!found.isDirectory()) {
    throw refuse("ROOT_NOT_A_FOLDER", "is no folder", `set ${rootVariable} to a folder`);
  }
  if (process.geteuid && found.uid !== process.geteuid()) {
    const hint = `set ${rootVariable} to a folder of your own`;
    throw refuse("ROOT_NOT_OURS", "belongs to another user", hint);
  }
  if ((found.mode & 0o022) !== 0) {
    throw refuse("ROOT_OPEN_TO_OTHERS", "can be written by other users", `run: chmod 700 ${root}`);
  }
}
