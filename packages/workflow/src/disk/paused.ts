/*
 * Owns: the empty file `logs/<hash>/<threadId>.paused`, which a thread has from a pause to the resume. While no worker
 * drives the thread, the file distinguishes a paused thread from a thread whose worker was lost.
 */
import { system } from "../system/system.ts";
import { removeFile, syncFolder, writeFileAtomic } from "./files.ts";
import { pausedPath, type Root, threadsDir } from "./paths.ts";

type Thread = { hash: string; threadId: string };

/** Returns whether a thread is paused, or will pause at its next yield. */
export const isPaused = (root: Root, { hash, threadId }: Thread): boolean =>
  system.files.exists(pausedPath(root, hash, threadId));

/** Sets or clears the pause of a thread; durable on return. */
export function notePaused(root: Root, thread: Thread, paused: boolean): void {
  const path = pausedPath(root, thread.hash, thread.threadId);
  if (isPaused(root, thread) === paused) return;
  if (paused) return writeFileAtomic(path, "");
  removeFile(path);
  syncFolder(threadsDir(root, thread.hash));
}
