import type { InputRequest } from "../control/control.ts";
import { wakesAt } from "../contract/wait.ts";
import { readLast, readLog } from "./log.ts";
import { isEnd } from "../record/record.ts";
import { diskError } from "./disk-error.ts";
import { ifThere } from "./files.ts";
import { movedTo } from "./location.ts";
import { dataPath, loggedHashes, type Root } from "./paths.ts";
import { system } from "../system/system.ts";
import { requestIdOf, takenIds } from "../record/selection.ts";
import { movedError, type ThreadRef } from "../record/thread.ts";

/** The thread with this very id; null when there is none. */
export function threadWithId(root: Root, threadId: string): ThreadRef | null {
  const hash = loggedHashes(root).find((one) => system.files.exists(dataPath(root, one, threadId)));
  return hash === undefined ? null : { hash, threadId };
}

/** @throws WorkflowError `THREAD_MOVED` when a thread is on another host. */
export function checkHere(root: Root, ref: ThreadRef): void {
  const host = movedTo(root, ref);
  if (host !== null) throw movedError(ref.threadId, host);
}

/** Whether a thread's log has this very answer already. One without a `requestId` is never the same. */
export function hasTaken(root: Root, { hash, threadId }: ThreadRef, input: InputRequest): boolean {
  const id = requestIdOf(input);
  if (id === undefined) return false;
  const path = dataPath(root, hash, threadId);
  try {
    const log = readLog(path);
    return log.kind === "thread" && takenIds(log.steps).includes(id);
  } catch (error) {
    throw diskError(error, "read", path);
  }
}

/** When a thread that nobody drives wakes, in milliseconds since the epoch; null when it does not. @throws the system's error. */
export function wakingTime(root: Root, ref: ThreadRef): number | null {
  const at = lastWakingTime(root, ref);
  return at === null || movedTo(root, ref) !== null ? null : at;
}

/** The same by its log alone, on whichever host it is. */
export function lastWakingTime(root: Root, { hash, threadId }: ThreadRef): number | null {
  const last = ifThere(() => readLast(dataPath(root, hash, threadId)));
  if (last?.kind !== "record" || last.record === null || isEnd(last.record)) return null;
  return wakesAt(last.record);
}

/** The same; null also for what can't be read, which can't be woken either. */
export function quietWakingTime(root: Root, ref: ThreadRef): number | null {
  try {
    return wakingTime(root, ref);
  } catch {
    return null;
  }
}
