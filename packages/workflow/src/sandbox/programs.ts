import { closeSync, existsSync, openSync, readSync, statSync } from "node:fs";
import { basename, delimiter, dirname, isAbsolute, join, sep } from "node:path";
import { realOrNull } from "./handle.ts";

/** A program that must be visible in a sandbox. */
export type Program = {
  /** Path without links. */
  path: string;
  /** Files and directories of its code and of its interpreter. */
  needs: string[];
  /** Names by which its first line and its own code find programs, each with its real path. */
  commands: { name: string; path: string }[];
};

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Finds a command in the absolute entries of PATH: the path in the entry, and that path without links; null when no
 * entry has the command.
 */
export function placeOf(command: string, { PATH = "" }: Env): { at: string; path: string } | null {
  const candidates = command.includes(sep)
    ? [command].filter(isAbsolute)
    : PATH.split(delimiter)
        .filter(isAbsolute)
        .map((folder) => join(folder, command));
  for (const at of candidates) {
    const path = realOrNull(at);
    const stats = path === null ? null : statSync(path, { throwIfNoEntry: false });
    if (path !== null && stats?.isFile() && (stats.mode & 0o111) !== 0) return { at, path };
  }
  return null;
}

/** Finds a command and returns its path without links; null when there is none. */
export const found = (command: string, env: Env): string | null =>
  placeOf(command, env)?.path ?? null;

/**
 * Finds a command with its package and its interpreter, which may be one of a version manager; null when it is missing.
 */
export function programOf(command: string, env: Env): Program | null {
  const path = found(command, env);
  if (path === null) return null;
  const interpreters = interpretersOf(path, env);
  const commands = [{ name: basename(command), path }, ...interpreters];
  const needs = commands.flatMap((one) => [
    one.path,
    ...packageOf(one.path),
    ...prefixOf(one.path),
    ...versionOf(one.path),
  ]);
  return { path, needs: [...new Set(needs)], commands };
}

/**
 * Returns the directory of an npm package, or of its scope if it has one: a program may consist of several packages of
 * one scope.
 */
function packageOf(path: string): string[] {
  const parts = path.split(`${sep}node_modules${sep}`);
  const inner = parts.pop();
  const [name] = inner?.split(sep) ?? [];
  if (parts.length === 0 || !name) return [];
  return [join(parts.join(`${sep}node_modules${sep}`), "node_modules", name)];
}

/**
 * Names of directories in an installation that hold programs and their libraries. Other directories, such as `share` in
 * `~/.local`, hold user data.
 */
const installed = ["bin", "lib", "lib64", "libexec", "include", "pyvenv.cfg"];

/** Returns the directories of an interpreter installed by a version manager, with its libraries. */
function prefixOf(path: string): string[] {
  const bin = dirname(path);
  const prefix = dirname(bin);
  if (basename(bin) !== "bin") return [];
  const isInstallation =
    existsSync(join(prefix, "lib/node_modules/npm")) ||
    existsSync(join(prefix, "pyvenv.cfg")) ||
    existsSync(join(prefix, "include/python3")) ||
    existsSync(join(prefix, "lib", basename(path)));
  if (!isInstallation) return [];
  return installed.map((name) => join(prefix, name)).filter(existsSync);
}

/**
 * Returns the folder of an installed version below ~/.local, such as share/agent/versions/1.0, which has the parts of a
 * program. Files directly in share/agent may be the user's data and stay hidden.
 */
function versionOf(path: string): string[] {
  const folder = dirname(path);
  return /\/\.local\/(share|lib|opt)\/[^/]+\/./.test(folder) ? [folder] : [];
}

const longestLine = 256;

function interpretersOf(path: string, env: Env): Program["commands"] {
  const start = Buffer.alloc(longestLine);
  const file = openSync(path, "r");
  try {
    readSync(file, start, 0, longestLine, 0);
  } finally {
    closeSync(file);
  }
  const [line = ""] = start.toString("latin1").split("\n", 1);
  if (!line.startsWith("#!")) return [];
  return line
    .slice(2)
    .trim()
    .split(/\s+/)
    .flatMap((word) => {
      const own = found(word, env);
      return own === null ? [] : [{ name: basename(word), path: own }];
    });
}
