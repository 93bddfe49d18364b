import { randomBytes } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { isObject } from "../run/error.ts";

/**
 * The content of the file `NAME.json` next to a worktree. A host reads only `repository`, to remove the worktree.
 * `entry` is the worktree's folder in the repository's git directory. The files belong to the step with the idempotency
 * key `key`, which began with the commit `base`. After the step, `commit` has the files. `id` changes each time the
 * files are created again.
 */
export type Note = {
  repository: string;
  entry: string | null;
  id: string;
  key: string | null;
  base: string;
  commit: string | null;
};

/** The folder and the name of a worktree and its note. */
export type TreePlace = { folder: string; name: string };

export const pathOf = ({ folder, name }: TreePlace): string => join(folder, name);
const notePath = (at: TreePlace): string => `${pathOf(at)}.json`;

export const newId = (): string => randomBytes(8).toString("hex");

/** Returns a worktree's note, or null if it is missing or unreadable. */
export function readNote(at: TreePlace): Note | null {
  try {
    const found: unknown = JSON.parse(readFileSync(notePath(at), "utf8"));
    return isObject(found) && typeof found.id === "string" ? (found as Note) : null;
  } catch {
    return null;
  }
}

export function writeNote(at: TreePlace, note: Note): void {
  mkdirSync(at.folder, { recursive: true, mode: 0o700 });
  const aside = join(at.folder, `.${at.name}.${randomBytes(4).toString("hex")}.tmp`);
  writeFileSync(aside, `${JSON.stringify(note)}\n`, { mode: 0o600 });
  renameSync(aside, notePath(at));
}

/** Returns whether a note's worktree exists and matches git's entry. */
export function isWhole(at: TreePlace, { entry, repository }: Note): boolean {
  if (entry === null || dirname(entry) !== join(repository, "worktrees")) return false;
  const link = firstLine(join(entry, "gitdir"));
  const isOurs = link !== null && resolve(entry, link) === join(pathOf(at), ".git");
  return isOurs && existsSync(pathOf(at)) && existsSync(join(entry, "HEAD"));
}

/** Returns the folder to which the `.git` file of a worktree points, or null. */
export function entryIn(at: TreePlace): string | null {
  const link = firstLine(join(pathOf(at), ".git"))?.replace(/^gitdir: /, "");
  return link === undefined ? null : resolve(pathOf(at), link);
}

/** Returns git's entries for a worktree in a repository, including the leftovers of a killed git. */
export function entriesOf(at: TreePlace, repository: string): string[] {
  const folder = join(repository, "worktrees");
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.flatMap((name) => {
    const entry = join(folder, name);
    const link = firstLine(join(entry, "gitdir"));
    return link !== null && resolve(entry, link) === join(pathOf(at), ".git") ? entry : [];
  });
}

function firstLine(path: string): string | null {
  try {
    return readFileSync(path, "utf8").replace(/\n$/, "");
  } catch {
    return null;
  }
}
