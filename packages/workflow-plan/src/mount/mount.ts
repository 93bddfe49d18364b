import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { isAbsolute, join, posix, sep } from "node:path";
import { isInside, realOrNull } from "@uncaged/workflow/sandbox";
import type { AdditionalMount } from "../plan/plan.ts";
import {
  allowlistFile,
  blockedMount,
  containerPathEmpty,
  containerPathNotText,
  containerPathUp,
  invalidAllowlist,
  mountMissing,
  mountNotFolder,
  mountNotObject,
  mountPathTaken,
  outsideRoots,
  readOnlyRoot,
  relativeMount,
  wholeFileSystem,
  writableHome,
} from "./errors.ts";

/** A directory of the host that may be mounted, with everything below it. */
export type AllowedRoot = { path: string; allowReadWrite: boolean; description?: string };

/** The directories of the host that a sandbox may mount. */
export type MountAllowlist = {
  allowedRoots: AllowedRoot[];
  /** The names that no component of a path may have. */
  blockedPatterns: string[];
  /** Whether a root is writable only for the workflow whose own directory is that root. */
  nonMainReadOnly: boolean;
};

/** A checked directory, by its real path. */
export type CheckedMount = { hostPath: string; containerPath: string; readonly: boolean };

const mountsFolder = "/workspace/mounts";

const first: MountAllowlist = {
  allowedRoots: [
    { path: "~/projects", allowReadWrite: true, description: "Projects" },
    { path: "/tmp", allowReadWrite: true, description: "Temporary files" },
  ],
  blockedPatterns: [".ssh", ".gnupg", ".aws", ".env", "credentials", "private_key", ".docker"],
  nonMainReadOnly: false,
};

/**
 * Returns the allowlist of a plan home. Creates the file on first use.
 * @throws ConfigError
 */
export function readAllowlist(home: string): MountAllowlist {
  const path = join(home, allowlistFile);
  mkdirSync(home, { recursive: true, mode: 0o700 });
  try {
    writeFileSync(path, `${JSON.stringify(first, null, 2)}\n`, { mode: 0o600, flag: "wx" });
    return first;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, "utf8"));
  } catch {
    throw invalidAllowlist(path, "is invalid JSON");
  }
  const problem = problemIn(value);
  if (problem !== null) throw invalidAllowlist(path, problem);
  return value as MountAllowlist;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function problemIn(value: unknown): string | null {
  if (!isObject(value)) return "must be an object";
  const { allowedRoots, blockedPatterns, nonMainReadOnly } = value;
  if (!Array.isArray(allowedRoots) || !allowedRoots.every(isObject))
    return "must have allowedRoots, a list of objects";
  for (const { allowReadWrite, path } of allowedRoots) {
    if (typeof path !== "string" || !isWhole(path))
      return `must not have the root ${JSON.stringify(path)}: a root must be an absolute path, or begin with ~`;
    if (/^\/+$/.test(path)) return "must not have the whole file system as a root";
    if (typeof allowReadWrite !== "boolean")
      return `must have allowReadWrite, true or false, for ${path}`;
  }
  if (!Array.isArray(blockedPatterns) || !blockedPatterns.every((one) => typeof one === "string"))
    return "must have blockedPatterns, a list of names";
  if (typeof nonMainReadOnly !== "boolean") return "must have nonMainReadOnly, true or false";
  return null;
}

const isWhole = (path: string): boolean =>
  !path.includes("\0") && (isAbsolute(path) || path === "~" || path.startsWith("~/"));

/** The rules for mounts. `home` replaces `~`. `cwd` is the workflow's own directory. */
export type MountRules = { allowlist: MountAllowlist; home: string; cwd: string };

/**
 * Checks a plan's mounts by their real paths and returns them. Call it at the confirmation of a plan and again at the
 * start of a step, because links may have changed.
 * @throws ConfigError for the first mount that is not allowed.
 */
export function checkedMounts(
  mounts: readonly AdditionalMount[],
  rules: MountRules,
): CheckedMount[] {
  const taken = new Set<string>();
  return mounts.map((mount) => {
    const checked = checkedMount(mount, rules);
    if (taken.has(checked.containerPath))
      throw mountPathTaken(mount.hostPath, checked.containerPath);
    taken.add(checked.containerPath);
    return checked;
  });
}

function checkedMount(mount: AdditionalMount, rules: MountRules): CheckedMount {
  if (typeof mount !== "object" || mount === null) throw mountNotObject(mount);
  const { containerPath, hostPath, readonly = true } = mount;
  if (typeof hostPath !== "string" || !isWhole(hostPath)) throw relativeMount(hostPath);
  const path = realDirectory(hostPath, rules.home);
  if (path === sep) throw wholeFileSystem(hostPath);
  const blocked = blockedName(path, rules) ?? blockedName(expanded(hostPath, rules.home), rules);
  if (blocked !== null) throw blockedMount(hostPath, blocked);
  const roots = rootsOf(path, rules);
  if (roots.length === 0) throw outsideRoots(hostPath);
  if (!readonly && hasHome(path, rules)) throw writableHome(hostPath);
  if (!readonly && !roots.some((root) => mayWrite(root, rules))) throw readOnlyRoot(hostPath);
  return { hostPath: path, containerPath: inside(containerPath ?? path, hostPath), readonly };
}

/**
 * Tells whether a directory contains the home directory. Then it must be read-only: programs read files in the home
 * directory when they start, and a step could create a missing file.
 */
const hasHome = (path: string, { home }: MountRules): boolean =>
  isInside(realOrNull(home) ?? home, path);

/**
 * Tells whether the workflow's own directory may be writable: a writable root contains it, and it does not contain the
 * home directory.
 */
export const mayWriteProject = (rules: MountRules): boolean => {
  const path = realOrNull(rules.cwd);
  if (path === null || blockedName(path, rules) !== null || hasHome(path, rules)) return false;
  return rootsOf(path, rules).some((root) => mayWrite(root, rules));
};

/** Returns the real paths of the roots in which steps of any plan may write. */
export const writableRoots = ({ allowlist, home }: MountRules): string[] =>
  allowlist.allowedRoots.flatMap(({ allowReadWrite, path }) => {
    const real = allowReadWrite ? realOrNull(expanded(path, home)) : null;
    return real === null ? [] : [real];
  });

type RealRoot = AllowedRoot & { real: string };

function rootsOf(path: string, { allowlist, home }: MountRules): RealRoot[] {
  return allowlist.allowedRoots.flatMap((root) => {
    const real = realOrNull(expanded(root.path, home));
    return real !== null && isInside(path, real) ? [{ ...root, real }] : [];
  });
}

const mayWrite = (
  { allowReadWrite, real }: RealRoot,
  { allowlist: { nonMainReadOnly }, cwd }: MountRules,
): boolean => allowReadWrite && (!nonMainReadOnly || realOrNull(cwd) === real);

export function blockedName(
  path: string,
  { allowlist: { blockedPatterns } }: MountRules,
): string | null {
  const names = blockedPatterns.map((name) => name.toLowerCase());
  return path.split(sep).find((part) => names.includes(part.toLowerCase())) ?? null;
}

const expanded = (path: string, home: string): string =>
  path === "~" || path.startsWith("~/") ? join(home, path.slice(1)) : path;

function realDirectory(hostPath: string, home: string): string {
  const path = realOrNull(expanded(hostPath, home));
  if (path === null) throw mountMissing(hostPath);
  if (!statSync(path).isDirectory()) throw mountNotFolder(hostPath);
  return path;
}

/** Returns the path of a mount in the sandbox, which is always below `/workspace/mounts`. */
function inside(containerPath: unknown, hostPath: string): string {
  if (typeof containerPath !== "string") throw containerPathNotText(hostPath);
  const isWithin = containerPath === mountsFolder || containerPath.startsWith(`${mountsFolder}/`);
  const own = isWithin ? containerPath.slice(mountsFolder.length) : containerPath;
  if (own.includes("\0") || own.split("/").includes("..")) throw containerPathUp(hostPath);
  const path = posix.join(mountsFolder, own);
  if (path === mountsFolder || path === `${mountsFolder}/`) throw containerPathEmpty(hostPath);
  return path.replace(/\/$/, "");
}
