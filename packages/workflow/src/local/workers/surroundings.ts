import { toErrorRecord } from "../../contract/error.ts";
import type { FolderEnv, Surroundings } from "../../control/control.ts";
import { readEnvFile } from "../../project/env-file.ts";
import { findProject } from "../../project/project.ts";
import type { Root } from "../../disk/paths.ts";
import type { Environment } from "../../system/port.ts";
import type { StartRecord } from "../../record/record.ts";
import type { ThreadRef } from "../../record/thread.ts";
import { startOf } from "../threads/view.ts";

/**
 * The surroundings of a thread that was started in a folder: the caller's environment, with defaults from the current
 * `.env` files of the folder's project except {@link ownersAlone}. All variables of the files are secrets.
 *
 * @throws WorkflowError the errors of `findProject` and `readEnvFile`.
 */
export async function surroundingsIn(
  folder: string | null,
  given: Environment,
): Promise<Pick<Surroundings, "env" | "secrets">> {
  const env = definedEnv(given);
  const own = folder === null ? {} : await projectEnv(folder, env);
  const secrets = Object.keys(own);
  return secrets.length === 0 ? { env } : { env: { ...own, ...env }, secrets };
}

/** The environment of a thread started in a folder. @throws WorkflowError the errors of `surroundingsIn`. */
export const threadEnv = async (
  folder: string,
  given: Environment,
): Promise<Record<string, string>> => (await surroundingsIn(folder, given)).env;

/** The surroundings of a resumed thread or its fork, from the folder where the thread was started. */
export async function surroundingsOf(root: Root, ref: ThreadRef, given: Environment) {
  return await surroundingsIn(folderOf(root, ref), given);
}

/** The `.env` variables of each folder where one of these threads was started. */
export async function folderEnvs(
  root: Root,
  refs: readonly ThreadRef[],
  env: Record<string, string>,
): Promise<Record<string, FolderEnv>> {
  return await envsOf(
    refs.map((ref) => folderOf(root, ref)),
    env,
  );
}

/** The `.env` variables of each folder. */
export async function envsOf(
  folders: readonly (string | null)[],
  env: Record<string, string>,
): Promise<Record<string, FolderEnv>> {
  const found = new Map<string, FolderEnv>();
  for (const folder of folders) {
    if (folder === null || found.has(folder)) continue;
    const failed = (error: unknown) => ({ error: toErrorRecord(error) });
    found.set(folder, await projectEnv(folder, env).then((own) => ({ env: own }), failed));
  }
  return Object.fromEntries(found);
}

/** Variables that select programs, code and settings of this program. A project's file can't set them. */
const ownersAlone =
  /^(PATH|HOME|SHELL|IFS|BASH_ENV|NODE_OPTIONS|NODE_PATH|XDG_(CACHE|CONFIG|RUNTIME)_\w+|(LD|DYLD|BUN|UNCAGED)_.*)$/i;

async function projectEnv(folder: string, env: Environment): Promise<Record<string, string>> {
  const project = await findProject(folder, env);
  const files = project?.env.map(readEnvFile) ?? [];
  const variables = files.flatMap((file) => [...file]);
  return Object.fromEntries(variables.filter(([name]) => !ownersAlone.test(name)));
}

const folderOf = (root: Root, ref: ThreadRef): string | null => folderIn(startOf(root, ref));

/** The folder where a thread was started. */
export function folderIn(start: StartRecord | null): string | null {
  const folder = start?.parameters.options.cwd;
  return typeof folder === "string" ? folder : null;
}

/** An environment without undefined variables. */
export const definedEnv = (env: Environment): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
