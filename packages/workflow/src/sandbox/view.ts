import { join, posix, relative, sep } from "node:path";
import { Handle, isInside } from "./handle.ts";
import { foreignGitFolder, tooManyFolders } from "./errors.ts";

/** A file or directory of the host, and its path inside the sandbox. */
export type Shown = { handle: Handle; to: string; isWritable: boolean };

/** A path inside the sandbox where an empty directory or file hides the host's content. */
export type Covered = { to: string; identity: string; isFolder: boolean };

/**
 * Files that would make git execute programs and that do not exist in a repository yet: a process inside may create
 * such a file.
 */
export type Unwanted = { git: Handle; names: string[] };

/** Mounts over the visible folders of a sandbox. */
export type Overlay = { shown: Shown[]; covered: Covered[]; unwanted: Unwanted[] };

/** Files whose content controls programs of the host or its user. They are mounted read-only. */
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

/** Entries of a git folder that configure git or hold programs for it. */
const obeyedByGit = ["hooks", "config", "config.worktree", "commondir", "info"] as const;

/** Entries that mark a project with settings for the host. */
const projectMarks = new Set([".git", ".uncaged", "uncaged.json", "uncaged.plans.yaml"]);

const deepest = 3;
const mostFolders = 20_000;
const passedOver = new Set(["node_modules", ".git", ".cache", "target", "dist", "vendor"]);

/**
 * Covers and protects the parts of a folder that a sandbox must not see or change: the paths in `hidden`, storage roots
 * of other projects, and, in a writable folder, settings and git hooks of the host. The folders above these paths
 * become mount points, so that a process inside can't move them away.
 */
export function overlayOf(folder: Shown, hidden: readonly string[]): Overlay {
  const overlay: Overlay = { shown: [], covered: [], unwanted: [] };
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
  const projects = new Set([""]);
  for (const names of foldersIn(folder.handle)) {
    if (isCovered(names)) continue;
    const own = names.at(-1) ?? "";
    if (projectMarks.has(own)) projects.add(names.slice(0, -1).join("/"));
    if (own === ".git" && folder.isWritable) {
      protectFile(names);
      for (const git of gitFoldersIn(folder.handle, names)) {
        pin(git);
        addHooks(folder.handle.below(git));
        for (const name of obeyedByGit) protect([...git, name]);
        const handle = folder.handle.below(git);
        if (handle) overlay.unwanted.push({ git: handle, names: missingIn(handle, git) });
      }
    } else if (own === ".uncaged" || !projectMarks.has(own)) cover(names);
  }
  if (folder.isWritable) {
    for (const project of projects) {
      const way = project === "" ? [] : project.split("/");
      for (const name of obeyed) if (!isCovered([...way, name])) protect([...way, name]);
    }
  }
  return overlay;
}

/** Creates a missing hooks directory in a repository, because only existing paths can be protected. */
function addHooks(git: Handle | null): void {
  if (git === null) return;
  using folder = git;
  const names = folder.isFolder ? folder.names() : [];
  if (!names.includes("HEAD") || names.includes("hooks")) return;
  try {
    folder.folder("hooks").close();
  } catch (error) {
    // A step runs as the same user, so it can't create the directory either.
    const { code = "" } = error as NodeJS.ErrnoException;
    if (!["EACCES", "EPERM", "EROFS"].includes(code)) throw error;
  }
}

/** Lists the folders with git settings: of the repository, its submodules and its worktrees. */
function gitFoldersIn(top: Handle, git: readonly string[]): string[][] {
  const found = [[...git]];
  for (const name of entriesOf(top, [...git, "worktrees"])) found.push([...git, "worktrees", name]);
  // A submodule's name may contain slashes.
  const open = [[...git, "modules"]];
  for (let way = open.pop(); way; way = open.pop()) {
    if (found.length + open.length > mostFolders) throw tooManyFolders(top.path, mostFolders);
    for (const name of entriesOf(top, way)) {
      const own = [...way, name];
      const isRepository = entriesOf(top, own).includes("HEAD");
      if (isRepository) found.push(...gitFoldersIn(top, own));
      else if (own.length < deepestGit) open.push(own);
    }
  }
  return found;
}

const deepestGit = 16;

/** Lists the names in a folder; empty when it is not a folder. */
function entriesOf(top: Handle, way: readonly string[]): string[] {
  using folder = top.below(way);
  return folder?.isFolder ? folder.entries().map(({ name }) => name) : [];
}

/**
 * Lists the unwanted files that do not exist in a repository.
 * @throws WorkflowError for a file that a valid repository never has
 */
function missingIn(git: Handle, way: readonly string[]): string[] {
  const names = git.isFolder ? git.names() : [];
  if (!names.includes("HEAD")) return [];
  if (names.includes("commondir") && way.at(-2) !== "worktrees") {
    const path = join(git.path, "commondir");
    throw foreignGitFolder(path);
  }
  return ["commondir", "config.worktree"].filter((name) => !names.includes(name));
}

/** Removes unwanted files that were created meanwhile, and returns their paths. */
export function removeUnwanted(unwanted: readonly Unwanted[]): string[] {
  return unwanted.flatMap(({ git, names }) => {
    const made = git.isFolder ? git.names() : [];
    const planted = names.filter((name) => made.includes(name));
    for (const name of planted) git.remove(name);
    return planted.map((name) => join(git.path, name));
  });
}

/** Lists covered or protected entries in the upper levels of a folder: `.git`, `.uncaged` and Unix sockets. */
function foldersIn(top: Handle): string[][] {
  const found: string[][] = [];
  const open: string[][] = [[]];
  for (let visited = 0; open.length > 0; visited += 1) {
    // A process inside may have created many folders to hide other folders from this search.
    if (visited === mostFolders) throw tooManyFolders(top.path, mostFolders);
    const names = open.shift() ?? [];
    using handle = names.length === 0 ? Handle.open(top.place()) : top.below(names);
    if (!handle?.isFolder) continue;
    for (const entry of handle.entries()) {
      const { name } = entry;
      const way = [...names, name];
      if (projectMarks.has(name) || entry.isSocket()) found.push(way);
      if (name === ".git" && entry.isDirectory()) found.push(...socketsOfGit(handle, way));
      else if (way.length < deepest && !passedOver.has(name) && !name.startsWith("."))
        if (entry.isDirectory()) open.push(way);
    }
  }
  return found;
}

/** Lists the sockets in a git folder: the socket of its file system monitor. */
function socketsOfGit(parent: Handle, way: readonly string[]): string[][] {
  using git = parent.entry(way.at(-1) ?? "");
  const entries = git?.entries() ?? [];
  return entries.filter((entry) => entry.isSocket()).map(({ name }) => [...way, name]);
}

/** Removes paths that are inside other paths. */
export function outermost(paths: readonly string[]): string[] {
  const own = [...new Set(paths)];
  return own.filter((path) => !own.some((other) => other !== path && isInside(path, other)));
}
