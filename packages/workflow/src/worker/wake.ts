import { join } from "node:path";
import type { Step } from "../contract/contract.ts";
import { toErrorRecord, WorkflowError } from "../contract/error.ts";
import { wakesAt } from "../contract/wait.ts";
import type { Surroundings, WakeRequest, WokenHere } from "../control/control.ts";
import type { DueParts } from "../engine/answer.ts";
import { readStart } from "../log/log.ts";
import type { LogWriter } from "../log/writer.ts";
import { notFound, quietWakingTime, wakingTime } from "../thread/selection.ts";
import { addDue, type Due, duePath, listDue, postponeDue, removeDue } from "../storage/due.ts";
import { removeFile, removeQuietly, syncFolder } from "../storage/files.ts";
import {
  blobsDir,
  dataPath,
  infoPath,
  locationPath,
  movedPath,
  namesIn,
  type Root,
  threadsDir,
  valuesPath,
} from "../storage/paths.ts";
import { system } from "../system/system.ts";

/** So many threads are woken by one request, which must be answered in time. */
const mostAtOnce = 200;

type Log = { root: Root; hash: string; threadId: string; writer: LogWriter };

/**
 * The entries of one thread among what is due. One is removed when no loss of power can have readers show the thread
 * asleep again; one that can't be removed is seen to be wrong when it is due.
 */
export const dueOf = ({ root, hash, threadId, writer }: Log, made?: Set<string>): DueParts => ({
  add: (at) => addDue(root, { hash, threadId, at }, made),
  async remove(at) {
    if (!(await writer.settle())) return;
    removeQuietly(duePath(root, { hash, threadId, at }));
  },
});

/**
 * Wakes the threads of a hash that are due. `wake` continues one of them, or gives false when it was not asleep or is
 * just being woken; one that can't be continued is due again in a minute.
 */
export async function wakeDue(
  root: Root,
  hash: string,
  wake: (due: Due) => Promise<boolean>,
): Promise<WokenHere> {
  const now = system.clock.now();
  const all = listDue(root, now).filter((due) => due.hash === hash);
  const done: WokenHere = { woken: [], failed: [], more: all.length > mostAtOnce };
  for (const due of all.slice(0, mostAtOnce)) {
    const { threadId } = due;
    try {
      if (await wake(due)) done.woken.push(threadId);
      else correct(root, due);
    } catch (error) {
      done.failed.push({ threadId, error: toErrorRecord(error) });
      postponeDue(root, due);
    }
  }
  return done;
}

/** Removes the entry of a thread that has ended, whose last step was this one. */
export async function forgetDue(log: Log, last: Step | null): Promise<void> {
  const at = wakesAt(last);
  if (at !== null) await dueOf(log).remove(at);
}

/**
 * Removes all that is kept of a thread. It is durable on return.
 * @throws WorkflowError `THREAD_NOT_FOUND` and those of the disk.
 */
export function removeLogs(root: Root, hash: string, threadId: string): void {
  const isThere = system.files.exists(dataPath(root, hash, threadId));
  // Whoever has removed it may have ended before that was durable.
  if (!isThere && system.files.exists(threadsDir(root, hash))) syncFolder(threadsDir(root, hash));
  if (!isThere) throw notFound(threadId);
  const at = quietWakingTime(root, { hash, threadId });
  const folder = threadsDir(root, hash);
  for (const path of [dataPath, infoPath, valuesPath, locationPath])
    removeFile(path(root, hash, threadId));
  for (const name of namesIn(folder)) {
    if (name.startsWith(`${threadId}.torn-`)) removeFile(join(folder, name));
  }
  system.files.removeTree(blobsDir(root, hash, threadId));
  syncFolder(folder);
  removeFile(movedPath(root, threadId));
  if (at !== null) removeQuietly(duePath(root, { hash, threadId, at }));
}

/** Whether a thread that nobody drives waits until a moment that has come. */
export function isDue(root: Root, due: Due): boolean {
  const at = wakingTime(root, due);
  return at !== null && at <= system.clock.now();
}

/**
 * What a thread that is due is continued with: what the request has for all, and beneath it what it has for the
 * thread's folder; null when that folder was not seen by who asks. @throws WorkflowError what the folder can't have.
 */
export function surroundingsFor(
  root: Root,
  due: Due,
  { folders, ...request }: WakeRequest,
): Surroundings | null {
  const start = readStart(dataPath(root, due.hash, due.threadId));
  const folder = start?.parameters.options.cwd;
  if (typeof folder !== "string") return request;
  const own = Object.hasOwn(folders, folder) ? folders[folder] : undefined;
  if (!own) return null;
  if ("error" in own) throw new WorkflowError(own.error);
  const secrets = Object.keys(own.env);
  return secrets.length === 0
    ? request
    : { ...request, env: { ...own.env, ...request.env }, secrets };
}

/** Makes an entry what the log says. */
function correct(root: Root, due: Due): void {
  const at = wakingTime(root, due);
  if (at !== null && at <= system.clock.now()) return;
  if (at !== null) addDue(root, { ...due, at });
  removeDue(root, due);
}
