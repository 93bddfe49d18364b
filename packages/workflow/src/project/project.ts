import { dirname, join, resolve } from "node:path";
import { isWorkflowError } from "../contract/error.ts";
import type { Environment } from "../system/port.ts";
import type { RootLimits } from "../contract/spending.ts";
import { type ProjectFields, readFields } from "./fields.ts";
import { readTextFile } from "./text-file.ts";
import { twoProjects } from "./errors.ts";

/** A project: a folder with a file that sets the storage root of its threads and the sources of its workflows. */
export type Project = {
  folder: string;
  /** The file that makes the folder a project: its `uncaged.json`, or its `package.json`. */
  file: string;
  /** Its storage root. */
  root: string;
  /** The URL of the cluster that runs its threads; null when they run on its storage root. */
  host: string | null;
  /** The paths of its `.env` files. A later file overrides earlier files. */
  env: string[];
  /** The path of each workflow's source, by name. */
  workflows: Record<string, string>;
  /** The spending limits of the threads of its storage root. */
  limits: RootLimits;
};

const ownFile = "uncaged.json";
const manifest = "package.json";
const manifestKey = "uncaged";

/**
 * Finds the project of a folder: the nearest folder, from `from` upwards, with an `uncaged.json`, or with the key
 * `uncaged` in its `package.json`; null if there is none. A project in the home folder, which `env` names, uses the
 * user's storage root.
 *
 * @throws WorkflowError `PROJECT_INVALID` with file, line and column, and all problems in `details`;
 * `PROJECT_NOT_OURS`; the errors of the disk.
 */
export async function findProject(
  from: string,
  env: Environment = process.env,
): Promise<Project | null> {
  return projectAt(from, env);
}

/** Finds the project as {@link findProject} does. */
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
  throw twoProjects(own, manifestKey, other);
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

/** Returns the project's fields in a `package.json`; null when the file has none or can't be read. */
function manifestFields(file: string): ProjectFields | null {
  let text: string | null;
  try {
    text = readTextFile(file);
  } catch (error) {
    // Ignore an unreadable `package.json`: its folder need not be a project.
    if (isWorkflowError(error)) return null;
    throw error;
  }
  return text?.includes(`"${manifestKey}"`) ? readFields(file, text, manifestKey) : null;
}
