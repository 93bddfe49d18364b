/*
 * Owns: the folders `trash/<time>-<hash>-<threadId>/`, each with the files of a thread that a user has removed.
 *
 * R1 A thread exists while its data log is in `logs/`: the log is removed first and restored last, with one rename. The
 *    next operation on the trash moves the files that a crash has left in `logs/`.
 * R2 The bundle and the worktrees of a thread are kept while the thread is in the trash.
 */
import { basename, join } from "node:path";
import { isHash, isThreadId } from "../contract/names.ts";
import type { ThreadRef } from "../record/thread.ts";
import { system } from "../system/system.ts";
import { diskError, systemCode } from "./disk-error.ts";
import { makeFolder, syncFolder } from "./files.ts";
import { takeLock } from "./lock.ts";
import {
  dataPath,
  movedDir,
  movedPath,
  namesIn,
  type Root,
  startLockPath,
  threadsDir,
  trashDir,
} from "./paths.ts";
import { plantedLink } from "./errors.ts";

/** A thread in the trash. `at` is the time of its removal, in milliseconds since the epoch. */
export type Trashed = ThreadRef & { at: number; folder: string };

const movedName = "moved";
const trashedName = /^(\d{1,16})-([0-9A-Z]{13})-([0-9A-Z]{26})$/;

/** Returns whether a folder in the trash belongs to a thread. */
export const isTrashedThread = (name: string): boolean => {
  const [, , hash = "", threadId = ""] = trashedName.exec(name) ?? [];
  return isHash(hash) && isThreadId(threadId);
};

/** Lists the threads in the trash, the last removed first. Skips folders without a log, which a crash has left. */
export const trashedThreads = (root: Root): Trashed[] =>
  foldersOfThreads(root).filter(({ hash, threadId, folder }) =>
    system.files.exists(join(folder, basename(dataPath(root, hash, threadId)))),
  );

/** Lists the empty folders in the trash: a crash has left them, or a move to them is in progress. */
export const emptyFolders = (root: Root): string[] =>
  foldersOfThreads(root)
    .map(({ folder }) => folder)
    .filter((folder) => namesIn(folder).length === 0);

function foldersOfThreads(root: Root): Trashed[] {
  return namesIn(trashDir(root))
    .filter(isTrashedThread)
    .map((name) => {
      const [at = "", hash = "", threadId = ""] = name.split("-");
      return { at: Number(at), hash, threadId, folder: join(trashDir(root), name) };
    })
    .sort((a, b) => b.at - a.at);
}

/** Moves all files of a thread to the trash. The caller holds the locks of the thread's bundle and id. */
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

/**
 * Moves files that a crash has left in `logs/` to their threads in the trash. Skips threads that are being restored.
 */
export function finishRemovals(root: Root): void {
  for (const trashed of trashedThreads(root)) {
    const { hash, threadId, folder } = trashed;
    const hasLeft =
      restOf(root, trashed).length > 0 || system.files.exists(movedPath(root, threadId));
    const lock = hasLeft ? takeLock(startLockPath(root, threadId), 0) : null;
    try {
      const isHere = system.files.exists(dataPath(root, hash, threadId));
      if (lock && !isHere && system.files.exists(folder)) takeRest(root, trashed);
    } finally {
      lock?.release();
    }
  }
}

/** Restores a thread from the trash. The caller holds the lock of its id, and has checked that the id is unused. */
export function moveFromTrash(root: Root, trashed: Trashed): void {
  const { hash, threadId, folder } = trashed;
  takeRest(root, trashed);
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

/** Makes a folder of the trash. @throws WorkflowError `PLANTED_LINK` for a symbolic link */
export function makeOwnFolder(folder: string): void {
  makeFolder(folder);
  if (system.files.statLink(folder)?.isDirectory()) return;
  throw plantedLink(folder);
}

function takeRest(root: Root, { hash, threadId, folder }: Omit<Trashed, "at">): void {
  const from = threadsDir(root, hash);
  for (const name of restOf(root, { hash, threadId })) move(join(from, name), join(folder, name));
  const mark = movedPath(root, threadId);
  if (system.files.exists(mark)) move(mark, join(folder, movedName));
  for (const changed of [folder, trashDir(root), from]) syncFolder(changed);
}

/** Lists the names of a thread's files in `logs/`. */
const restOf = (root: Root, { hash, threadId }: ThreadRef): string[] =>
  namesIn(threadsDir(root, hash)).filter((name) => name.startsWith(`${threadId}.`));

function move(from: string, to: string): void {
  try {
    system.files.rename(from, to);
  } catch (error) {
    if (systemCode(error) !== "ENOENT" || !system.files.exists(to)) {
      throw diskError(error, "move", from);
    }
  }
}
