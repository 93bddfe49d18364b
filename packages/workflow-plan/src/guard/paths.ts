import { posix } from "node:path";

/** Marks a part of a text that depends on a variable, a substitution or a pattern. */
export const unknown = "\0";

const roots = `bin boot dev etc home lib lib32 lib64 libx32 opt proc root run sbin srv sys usr var
  Applications Library System Users Volumes private`.split(/\s+/);
// Matches the end of a pattern that selects everything in a folder.
const everything = /(?:\/(?:\.?\*+|\.\[[^\]]*\]\*))+$/;
const harmlessDevice =
  /^\/dev\/(?:null|zero|full|u?random|tty|ptmx|std(?:in|out|err)|(?:fd|pts|shm)\/[^/].*)$/;

/**
 * Returns the absolute form of a path. If its beginning is unknown, the result begins with `/` and the unknown part.
 */
export function absolute(path: string, cwd: string): string {
  const whole = path.startsWith("/") ? path : `${path.startsWith(unknown) ? "" : cwd}/${path}`;
  // `..` after an unknown part may lead anywhere.
  if (whole.includes(unknown) && whole.includes("..")) return `/${unknown}`;
  return posix.resolve("/", whole).replace(/^\/proc\/[^/]+\/root(?=\/|$)/, "") || "/";
}

/** Tells whether an absolute path may be a root of the system, a home directory, or everything in one. */
export function maybeSystemRoot(whole: string, home: string): boolean {
  const path =
    whole
      .replace(/\/+$/, "")
      .replace(everything, "")
      .replace(/^(?:\.?\*|\.)$/, "") || "/";
  const isHome = path === posix.resolve(home) || /^\/(?:home|Users)\/[^/]+$/.test(path);
  if (isHome || path === "/" || roots.includes(path.slice(1))) return true;
  if (!path.includes(unknown)) {
    const [start = ""] = path.split(/[*?[]/);
    const mayBeHome = home.startsWith(start) && path.split("/").length <= home.split("/").length;
    return start !== path && (mayBeHome || !start.slice(1).includes("/"));
  }
  // If the last name is known, the path is a root only if a root has that name.
  const name = posix.basename(path);
  return !/^[\w@+.-]+$/.test(name) || [...roots, posix.basename(home)].includes(name);
}

/** Tells whether an absolute path is in the system's settings, or is a dangerous device. */
export function isProtected(whole: string): boolean {
  const path = whole.replace(/^\/private(?=\/etc(?:\/|$))/, "");
  return /^\/(?:etc|dev)(?:\/|$)/.test(path) && !harmlessDevice.test(path);
}

/** Tells whether a text contains a protected path. */
export const namesProtected = (text: string): boolean =>
  [...text.matchAll(/\/(?:etc|dev)\b[^\s'"`;&|()<>]*/g)].some(([path]) => isProtected(path));
