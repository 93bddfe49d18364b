import { posix } from "node:path";

/** What a command's paths are taken against. */
export type Directories = { home: string; cwd: string };

const roots =
  "bin boot dev etc home lib lib32 lib64 libx32 opt proc root run sbin srv sys usr var".split(" ");
const macRoots = ["Applications", "Library", "System", "Users", "Volumes", "private"];
const systemRoots = ["/", ...[...roots, ...macRoots].map((name) => `/${name}`)];
const blockDevice =
  /^\/dev\/(sd|hd|vd|xvd|nvme|mmcblk|disk\/|mapper\/|dm-|loop|md|ram|zram|nbd|rdisk)/;

/** What stands in a text for a part that is not known. */
export const unknown = "\0";

const trailingGlob = /(?:\/(?:\.?\*+|\.\[[^\]]*\]\*|\{\*,\.\*\}))+\/?$/;

/** A path as it is on disk, as far as its text goes; null when a part of it is not known. */
export function wholePath(path: string, { cwd }: Directories): string | null {
  return path.includes(unknown) ? null : posix.resolve(cwd, path);
}

/** Whether all that a path stands for is a root of the system, or a home directory; `/*` is as `/`. */
export function isSystemRoot(path: string, directories: Directories): boolean {
  const isAll = path === "*" || path === ".*" || path === "./*";
  const whole = wholePath(isAll ? "." : path.replace(trailingGlob, "/"), directories);
  if (whole === null) return false;
  const isHome = whole === posix.resolve(directories.home) || /^\/(home|Users)\/[^/]+$/.test(whole);
  if (isHome || systemRoots.includes(whole)) return true;
  return /[*?[]/.test(whole) && systemRoots.some((root) => globForm(whole).test(root));
}

/** Whether a path is of the system's settings, or a disk. */
export function isProtected(path: string, directories: Directories): boolean {
  const whole = wholePath(path, directories);
  if (whole === null) return path.startsWith("/etc/") || blockDevice.test(path);
  return /^(\/private)?\/etc(\/|$)/.test(whole) || blockDevice.test(whole);
}

function globForm(glob: string): RegExp {
  const parts = glob.split(/(\*+|\?|\[[^\]/]+\])/).map((part, at) => {
    if (at % 2 === 0) return part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
    if (part.startsWith("*")) return "[^/]*";
    return part === "?" ? "[^/]" : part.replace(/^\[!/, "[^").replaceAll("\\", "\\\\");
  });
  try {
    return new RegExp(`^${parts.join("")}$`);
  } catch {
    return /(?!)/;
  }
}
