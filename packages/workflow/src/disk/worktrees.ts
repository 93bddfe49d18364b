/*
 * Owns: the folder `worktrees/<threadId>/` of a thread that works in git worktrees, and what of it a host reads: the
 * notes `<name>.json`, which name the repository of the worktree `<name>/`, and `.commits.json`, the commits that the
 * steps name which a fork has copied. Does not own: what is in a worktree, and the rest of a note (workflow-agents).
 */
import { join } from "node:path";
import type { Step } from "../contract/contract.ts";
import { isRecord } from "../contract/show.ts";
import { worktreeIn, type WorktreeMeta } from "../contract/worktree.ts";
import { makeFolder, readOwnFile, writeFileAtomic } from "./files.ts";
import { namesIn, type Root } from "./paths.ts";
import { isThreadId } from "../contract/names.ts";

/** Where a thread's worktrees lie; there is no such folder until it has one. */
export const worktreesDir = (root: Root, threadId: string): string =>
  join(root, "worktrees", threadId);

/** The threads that have such a folder, and those that are gone, in no order. */
export const worktreeThreads = (root: Root): string[] =>
  namesIn(join(root, "worktrees")).filter(isThreadId);

const copiedName = ".commits.json";
const ending = ".json";
const mostBytes = 16 * 1024 * 1024;

/** Takes the commits of a fork's copied steps, which its source may not take away with itself. */
export class CopiedCommits {
  readonly #commits = new Map<string, WorktreeMeta>();

  add(step: Step): void {
    const worktree = worktreeIn(step);
    if (worktree) this.#commits.set(worktree.commit, worktree);
  }

  /** Notes them for the fork. They are on the disk on return. */
  note(root: Root, threadId: string): void {
    if (this.#commits.size === 0) return;
    const folder = worktreesDir(root, threadId);
    makeFolder(folder);
    writeFileAtomic(join(folder, copiedName), `${JSON.stringify([...this.#commits.values()])}\n`);
  }
}

/** The commits that a thread's copied steps name. */
export function copiedCommits(root: Root, threadId: string): WorktreeMeta[] {
  const found = jsonIn(join(worktreesDir(root, threadId), copiedName));
  if (!Array.isArray(found)) return [];
  return found.flatMap((one: unknown) => worktreeIn({ meta: { worktree: one } }) ?? []);
}

/** The worktrees of a thread by their names, each with the git directory of its repository. */
export function notedWorktrees(
  root: Root,
  threadId: string,
): { path: string; repository: string }[] {
  const folder = worktreesDir(root, threadId);
  return namesIn(folder).flatMap((name) => {
    if (!name.endsWith(ending) || name.startsWith(".")) return [];
    const note = jsonIn(join(folder, name));
    const repository = isRecord(note) ? note.repository : null;
    if (typeof repository !== "string") return [];
    return [{ path: join(folder, name.slice(0, -ending.length)), repository }];
  });
}

function jsonIn(path: string): unknown {
  try {
    const bytes = readOwnFile(path, mostBytes);
    return bytes && (JSON.parse(new TextDecoder().decode(bytes)) as unknown);
  } catch {
    // What a crash has left of it names nothing.
    return null;
  }
}
