import { posix, relative, sep } from "node:path";
import { Handle, isInside } from "./handle.ts";

/** A file or directory of the host, and where it is shown inside. */
export type Shown = { handle: Handle; to: string; isWritable: boolean };

/** A place inside at which nothing of the host is shown: an empty directory, or an empty file. */
export type Covered = { to: string; identity: string; isFolder: boolean };

/** What is laid over the folders that a sandbox shows. */
export type Overlay = { shown: Shown[]; covered: Covered[]; emptyFolders: string[] };

/** What the host or its user obeys in a folder. It stays readable and can't be changed. */
const obeyed = [
  "uncaged.json",
  "uncaged.plans.yaml",
  ".env",
  ".envrc",
  ".mcp.json",
  ".gitmodules",
  ".claude",
  ".vscode",
  ".idea",
  ".husky",
] as const;

/** What git executes or obeys in its folder. */
const obeyedByGit = ["hooks", "config", "config.worktree", "commondir", "info"] as const;

const deepest = 3;
const mostFolders = 2000;
const passedOver = new Set(["node_modules", ".git", ".cache", "target", "dist", "vendor"]);

/**
 * What covers and protects the parts of a folder that a sandbox must not see or change: the paths in `hidden`, the storage
 * roots of other projects, and in a writable folder the settings and the git hooks of the host. The directories on the way
 * to them become mount points, so a process inside can't move them away.
 */
export function overlayOf(folder: Shown, hidden: readonly string[]): Overlay {
  const overlay: Overlay = { shown: [], covered: [], emptyFolders: [] };
  const pinned = new Set<string>();
  const inside = (names: readonly string[]) => posix.join(folder.to, ...names);
  const pin = (names: readonly string[]): void => {
    if (!folder.isWritable) return;
    for (let length = 1; length <= names.length; length += 1) {
      const way = names.slice(0, length);
      const to = inside(way);
      const handle = pinned.has(to) ? null : folder.handle.below(way);
      pinned.add(to);
      if (handle?.isFolder) overlay.shown.push({ handle, to, isWritable: true });
      else handle?.close();
    }
  };
  const cover = (names: readonly string[]): void => {
    using handle = folder.handle.below(names);
    if (handle === null) return;
    pin(names.slice(0, -1));
    const { identity, isFolder } = handle;
    overlay.covered.push({ to: inside(names), identity, isFolder });
  };
  const protect = (names: readonly string[]): void => {
    const handle = folder.handle.below(names);
    if (handle === null) return;
    pin(names.slice(0, -1));
    overlay.shown.push({ handle, to: inside(names), isWritable: false });
  };
  const protectFile = (names: readonly string[]): void => {
    using handle = folder.handle.below(names);
    if (handle?.kind === "file") protect(names);
  };
  for (const path of outermost(hidden)) {
    if (path !== folder.handle.path && isInside(path, folder.handle.path))
      cover(relative(folder.handle.path, path).split(sep));
  }
  const isCovered = (names: readonly string[]) =>
    overlay.covered.some(({ to }) => isInside(inside(names), to));
  for (const names of foldersIn(folder.handle)) {
    if (isCovered(names)) continue;
    const own = names.at(-1);
    if (own === ".uncaged") cover(names);
    else if (own === ".git" && folder.isWritable) {
      pin(names);
      protectFile(names);
      for (const name of obeyedByGit) protect([...names, name]);
      using hooks = folder.handle.below([...names, "hooks"]);
      using head = folder.handle.below([...names, "HEAD"]);
      if (hooks === null && head !== null) overlay.emptyFolders.push(inside([...names, "hooks"]));
    }
  }
  if (folder.isWritable) for (const name of obeyed) if (!isCovered([name])) protect([name]);
  return overlay;
}

/** The ways to the directories `.git` and `.uncaged`, and to files `.git`, in the upper levels of a folder. */
function foldersIn(top: Handle): string[][] {
  const found: string[][] = [];
  const open: string[][] = [[]];
  for (let visited = 0; open.length > 0 && visited < mostFolders; visited += 1) {
    const names = open.shift() ?? [];
    using handle = names.length === 0 ? Handle.open(top.place()) : top.below(names);
    if (!handle?.isFolder) continue;
    for (const name of handle.names()) {
      const way = [...names, name];
      if (name === ".git" || name === ".uncaged") found.push(way);
      else if (way.length < deepest && !passedOver.has(name) && !name.startsWith("."))
        open.push(way);
    }
  }
  return found;
}

/** Paths without those that are inside another one. */
export function outermost(paths: readonly string[]): string[] {
  const own = [...new Set(paths)];
  return own.filter((path) => !own.some((other) => other !== path && isInside(path, other)));
}
