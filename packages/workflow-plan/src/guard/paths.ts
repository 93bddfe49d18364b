import { posix } from "node:path";

/** The part of a text that depends on a variable, a substitution or a pattern. */
export const unknown = "\0";

const roots = `bin boot dev etc home lib lib32 lib64 libx32 opt proc root run sbin srv sys usr var
  Applications Library System Users Volumes private`.split(/\s+/);
// What follows a folder and stands for all that is in it.
const everything = /(?:\/(?:\.?\*+|\.\[[^\]]*\]\*))+$/;
const harmlessDevice =
  /^\/dev\/(?:null|zero|full|u?random|tty|ptmx|std(?:in|out|err)|(?:fd|pts|shm)\/[^/].*)$/;

/** The absolute form of a path. It begins with `/` and the unknown part where nothing before that is known. */
export function absolute(path: string, cwd: string): string {
  const whole = path.startsWith("/") ? path : `${path.startsWith(unknown) ? "" : cwd}/${path}`;
  // `..` after an unknown part may lead anywhere.
  if (whole.includes(unknown) && whole.includes("..")) return `/${unknown}`;
  return posix.resolve("/", whole).replace(/^\/proc\/[^/]+\/root(?=\/|$)/, "") || "/";
}

/** Whether an absolute path may be a root of the system, a home directory, or all that is in one. */
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
  // A known last name bounds what goes, unless a root has that name.
  const name = posix.basename(path);
  return !/^[\w@+.-]+$/.test(name) || [...roots, posix.basename(home)].includes(name);
}

/** Whether an absolute path is in the system's settings, or a device other than a harmless one. */
export function isProtected(whole: string): boolean {
  const path = whole.replace(/^\/private(?=\/etc(?:\/|$))/, "");
  return /^\/(?:etc|dev)(?:\/|$)/.test(path) && !harmlessDevice.test(path);
}

/** Whether a text names such a path anywhere. */
export const namesProtected = (text: string): boolean =>
  [...text.matchAll(/\/(?:etc|dev)\b[^\s'"`;&|()<>]*/g)].some(([path]) => isProtected(path));
