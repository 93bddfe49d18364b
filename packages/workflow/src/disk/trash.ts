/*
 * Owns: the folders `trash/<time>-<hash>-<threadId>/`, each with the files of a thread that a person has removed.
 *
 * R1 A thread is there while its data log is in `logs/`: that goes first, and comes back last, each by one rename. What a crash
 *    leaves of it in `logs/` follows with the next act on the trash.
 * R2 While a thread is in the trash its bundle and its worktrees are kept.
 */
import { basename, join } from "node:path";
import { WorkflowError } from "../contract/error.ts";
import { isHash, isThreadId } from "../contract/names.ts";
import type { ThreadRef } from "../record/thread.ts";
import { system } from "../system/system.ts";
import { diskError, systemCode } from "./disk-error.ts";
import { makeFolder, syncFolder } from "./files.ts";
import {
  dataPath,
  movedDir,
  movedPath,
  namesIn,
  type Root,
  threadsDir,
  trashDir,
} from "./paths.ts";

/** A thread in the trash. `at` is when it was removed, in milliseconds since the epoch. */
export type Trashed = ThreadRef & { at: number; folder: string };

const movedName = "moved";
const trashedName = /^(\d{1,16})-([0-9A-Z]{13})-([0-9A-Z]{26})$/;

/** Whether a folder in the trash is of a thread. */
export const isTrashedThread = (name: string): boolean => {
  const [, , hash = "", threadId = ""] = trashedName.exec(name) ?? [];
  return isHash(hash) && isThreadId(threadId);
};

/** The threads in the trash, the one that was removed last first. */
export function trashedThreads(root: Root): Trashed[] {
  return namesIn(trashDir(root))
    .filter(isTrashedThread)
    .map((name) => {
      const [at = "", hash = "", threadId = ""] = name.split("-");
      return { at: Number(at), hash, threadId, folder: join(trashDir(root), name) };
    })
    .sort((a, b) => b.at - a.at);
}

/** Moves all files of a thread to the trash. The caller holds the lock of its bundle. */
export function moveToTrash(root: Root, { hash, threadId }: ThreadRef): void {
  makeOwnFolder(trashDir(root));
  let at = system.clock.now();
  const folderAt = (time: number) => join(trashDir(root), `${time}-${hash}-${threadId}`);
  while (system.files.exists(folderAt(at))) at += 1;
  const folder = folderAt(at);
  makeOwnFolder(folder);
  const data = dataPath(root, hash, threadId);
  move(data, join(folder, basename(data)));
  syncFolder(threadsDir(root, hash));
  takeRest(root, { hash, threadId, folder });
}

/** Has what a crash left in `logs/` follow its threads into the trash. */
export function finishRemovals(root: Root): void {
  for (const trashed of trashedThreads(root)) {
    const { hash, threadId, folder } = trashed;
    const data = dataPath(root, hash, threadId);
    const isWhole = system.files.exists(join(folder, basename(data)));
    if (isWhole && !system.files.exists(data)) takeRest(root, trashed);
  }
}

/** Moves a thread back. The caller has made sure that no other has its id. */
export function moveFromTrash(root: Root, { hash, threadId, folder }: Trashed): void {
  finishRemovals(root);
  const target = threadsDir(root, hash);
  makeFolder(target);
  const data = basename(dataPath(root, hash, threadId));
  const mark = join(folder, movedName);
  if (system.files.exists(mark)) {
    makeFolder(movedDir(root));
    move(mark, movedPath(root, threadId));
    syncFolder(movedDir(root));
  }
  for (const name of namesIn(folder)) {
    if (name !== data) move(join(folder, name), join(target, name));
  }
  syncFolder(target);
  move(join(folder, data), join(target, data));
  syncFolder(target);
  system.files.removeTree(folder);
}

/** Makes a folder of the trash. @throws WorkflowError `PLANTED_LINK` when a link is there */
export function makeOwnFolder(folder: string): void {
  makeFolder(folder);
  if (system.files.statLink(folder)?.isDirectory()) return;
  throw WorkflowError.failed(
    "PLANTED_LINK",
    `${folder} is a symbolic link`,
    "remove the link if you did not make it",
  );
}

function takeRest(root: Root, { hash, threadId, folder }: Omit<Trashed, "at">): void {
  const from = threadsDir(root, hash);
  for (const name of namesIn(from)) {
    if (name.startsWith(`${threadId}.`)) move(join(from, name), join(folder, name));
  }
  const mark = movedPath(root, threadId);
  if (system.files.exists(mark)) move(mark, join(folder, movedName));
  for (const changed of [folder, trashDir(root), from]) syncFolder(changed);
}

function move(from: string, to: string): void {
  try {
    system.files.rename(from, to);
  } catch (error) {
    if (systemCode(error) !== "ENOENT" || !system.files.exists(to)) {
      throw diskError(error, "move", from);
    }
  }
}
