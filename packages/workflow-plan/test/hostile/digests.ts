import { createHash } from "node:crypto";
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";

/** Files of the machine that steps must not change. */
export const systemFiles = [
  ...["/etc/ld.so.preload", "/etc/cron.d/hostile", "/usr/local/bin/hostile", "/usr/bin/env"],
  ...["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hostname"],
  "/proc/sys/fs/binfmt_misc/hostile",
];

type Digests = Record<string, string>;

/** Returns the content of a folder by path: the mode, the owner and a digest. Skips the paths in `leaves`. */
export function digestsBelow(
  top: string,
  leaves: (path: string) => boolean = () => false,
): Digests {
  const all: Digests = {};
  const visit = (path: string): void => {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (!stats || leaves(path)) return;
    const links = stats.isFile() ? stats.nlink : "";
    all[path] = `${stats.mode.toString(8)} ${stats.uid} ${links} ${contentOf(path)}`;
    if (stats.isDirectory()) for (const name of readdirSync(path)) visit(join(path, name));
  };
  visit(top);
  return all;
}

/** Returns the digests of the existing files, by path. */
export const digestsOf = (paths: readonly string[]): Digests =>
  Object.fromEntries(
    paths.filter((path) => existsSync(path)).map((path) => [path, contentOf(path)]),
  );

/** Describes a path: a file's digest, a folder's names, or a link's target. */
function contentOf(path: string): string {
  const stats = lstatSync(path);
  if (stats.isSymbolicLink()) return readlinkSync(path);
  if (stats.isDirectory()) return "folder";
  if (!stats.isFile()) return "special";
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}
