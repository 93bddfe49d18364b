import { dirname, join, resolve } from "node:path";
import { isWorkflowError, WorkflowError } from "../contract/error.ts";
import type { Environment } from "../system/port.ts";
import type { RootLimits } from "../contract/spending.ts";
import { type ProjectFields, readFields } from "./fields.ts";
import { readTextFile } from "./text-file.ts";

/** A project: a folder with a file that says where its threads are stored, and what its workflows are made of. */
export type Project = {
  folder: string;
  /** The file that makes the folder a project: its `uncaged.json`, or its `package.json`. */
  file: string;
  /** Its storage root. */
  root: string;
  /** The URL of the cluster that its threads run on; null when they run on its storage root. */
  host: string | null;
  /** The paths of its `.env` files. Of a variable that several of them have the last counts. */
  env: string[];
  /** The path of each workflow's source, by name. */
  workflows: Record<string, string>;
  /** What the threads of its storage root may spend. */
  limits: RootLimits;
};

const ownFile = "uncaged.json";
const manifest = "package.json";
const manifestKey = "uncaged";

/**
 * The project that a folder is in: that of the nearest folder, from it upwards, with an `uncaged.json` or with the
 * key `uncaged` in its `package.json`; null when there is none. `env` names the home folder, which has the user's
 * storage root when it is a project.
 *
 * @throws WorkflowError `PROJECT_INVALID` with file, line and column, all findings of several in `details`;
 * `PROJECT_NOT_OURS`, and those of the disk.
 */
export async function findProject(
  from: string,
  env: Environment = process.env,
): Promise<Project | null> {
  return projectAt(from, env);
}

/** As {@link findProject}. */
export function projectAt(from: string, env: Environment): Project | null {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const found = projectIn(folder, env);
    if (found || dirname(folder) === folder) return found;
  }
}

function projectIn(folder: string, env: Environment): Project | null {
  const [own, other] = [join(folder, ownFile), join(folder, manifest)];
  const text = readTextFile(own);
  const inManifest = manifestFields(other);
  if (text === null) return inManifest && projectOf(folder, other, inManifest, env);
  const inOwn = readFields(own, text);
  if (!inManifest) return inOwn && projectOf(folder, own, inOwn, env);
  const message = `${own} and the key "${manifestKey}" in ${other} are both there`;
  throw WorkflowError.failed("PROJECT_INVALID", message, "keep one of them");
}

function projectOf(folder: string, file: string, fields: ProjectFields, env: Environment): Project {
  const { root, host = null, env: files = [".env"], workflows = {}, limits = {} } = fields;
  const isHome = env.HOME !== undefined && resolve(env.HOME) === folder;
  const paths = Object.entries(workflows).map(([name, path]) => [name, resolve(folder, path)]);
  return {
    folder,
    file,
    root: resolve(folder, root ?? (isHome ? ".uncaged/workflow" : ".uncaged")),
    host,
    env: files.map((path) => resolve(folder, path)),
    workflows: Object.fromEntries(paths),
    limits,
  };
}

/** The project's fields in a `package.json`; null when it has none, and when it can't be read. */
function manifestFields(file: string): ProjectFields | null {
  let text: string | null;
  try {
    text = readTextFile(file);
  } catch (error) {
    // Not ours to judge: it need not be about us at all.
    if (isWorkflowError(error)) return null;
    throw error;
  }
  return text?.includes(`"${manifestKey}"`) ? readFields(file, text, manifestKey) : null;
}
