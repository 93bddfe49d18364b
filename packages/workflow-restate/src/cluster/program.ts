import { existsSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { arch, homedir, platform } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Environment, WorkflowError } from "@uncaged/workflow/host";
import { makeFolder } from "@uncaged/workflow/internal";
import { badServerPath, noServer, serverNotInstalled } from "./errors.ts";

/** Server version of this package's tests. */
export const serverVersion = "1.7.12";

const variable = "RESTATE_SERVER";

/** npm package of the Restate server for this machine. Its license is the Business Source License 1.1. */
const packageName = (): string => `@restatedev/restate-server-${platform()}-${arch()}`;

/** Returns the folder for an installed server. This program never contains the server. */
function cacheFolder(env: Environment): string {
  const home = env.XDG_CACHE_HOME || join(env.HOME || homedir(), ".cache");
  return join(home, "uncaged-workflow", `restate-server-${serverVersion}`);
}

const programIn = (folder: string): string =>
  join(folder, "node_modules", packageName(), "bin/restate-server");

/**
 * Returns the path of the Restate server; null when none is found. Looks in this order: the variable `RESTATE_SERVER`,
 * the npm package in a `node_modules` above `from` or above this program, the server from {@link installServer}, the
 * PATH.
 *
 * @throws WorkflowError `NO_RESTATE_SERVER` when the variable's path does not exist.
 */
export function findServer(from: string, env: Environment): string | null {
  const named = env[variable];
  if (named && !existsSync(named)) throw badServerPath(variable, named);
  const own = dirname(fileURLToPath(import.meta.url));
  const folders = [...foldersAbove(from), ...foldersAbove(own), cacheFolder(env)];
  const packaged = folders.map(programIn).find((path) => existsSync(path));
  return named || packaged || Bun.which("restate-server", { PATH: env.PATH ?? "" });
}

function foldersAbove(folder: string): string[] {
  const above = dirname(folder);
  return above === folder ? [folder] : [folder, ...foldersAbove(above)];
}

/** Returns the error for a machine without a Restate server. */
export const missingServer = (): WorkflowError => noServer(packageName());

/**
 * Installs the server's npm package into the user's cache, from the registry in Bun's configuration.
 *
 * @throws WorkflowError `NO_RESTATE_SERVER` with the last output of the package manager.
 */
export async function installServer(env: Environment): Promise<string> {
  const folder = cacheFolder(env);
  const path = programIn(folder);
  if (existsSync(path)) return path;
  // Each concurrent install has its own folder. The first finished install wins.
  const staged = join(dirname(folder), `.${basename(folder)}-${process.pid}`);
  rmSync(staged, { recursive: true, force: true });
  makeFolder(staged);
  const manifest = { private: true, dependencies: { [packageName()]: serverVersion } };
  writeFileSync(join(staged, "package.json"), JSON.stringify(manifest));
  try {
    const child = Bun.spawn([process.execPath, "install", "--production", "--ignore-scripts"], {
      cwd: staged,
      env: { ...env, BUN_BE_BUN: "1" },
      stdin: "ignore",
      stdout: "ignore",
      stderr: "pipe",
    });
    const printed = await new Response(child.stderr).text();
    if ((await child.exited) !== 0) throw notInstalled(printed);
    if (!existsSync(folder)) renameSync(staged, folder);
    if (!existsSync(path)) throw notInstalled(`it has no ${basename(path)}`);
    return path;
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}

function notInstalled(printed: string): WorkflowError {
  const [reason = "no output"] = printed.trim().split("\n").slice(-1);
  return serverNotInstalled(`${packageName()}@${serverVersion}`, reason, variable);
}
