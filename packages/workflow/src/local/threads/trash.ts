import { basename, join } from "node:path";
import { readStart } from "../../disk/log.ts";
import { dataPath, type Root } from "../../disk/paths.ts";
import { restoreThread } from "../../disk/threads.ts";
import { trashedThreads } from "../../disk/trash.ts";
import type { TrashedThread } from "../../host/host.ts";
import { isWorkflowError } from "../../contract/error.ts";
import { isThreadId } from "../../contract/names.ts";
import type { StartRecord } from "../../record/record.ts";
import { pickThread } from "../../record/selection.ts";
import type { ThreadRef } from "../../record/thread.ts";
import { notInTrash } from "../../disk/errors.ts";

/** @see Host.trash */
export const listTrash = (root: Root): TrashedThread[] =>
  trashedThreads(root).map(({ at, hash, threadId, folder }) => {
    const start = startIn(join(folder, basename(dataPath(root, hash, threadId))));
    const { name: workflow = "", parameters } = start ?? {};
    return { hash, threadId, workflow, prompt: parameters?.prompt ?? "", removedAt: at };
  });

/** @see Host.restore @throws WorkflowError `NOT_IN_TRASH`, `THREAD_EXISTS`, and the errors of `pickThread` */
export async function restoreFromTrash(root: Root, text: string): Promise<ThreadRef> {
  return await restoreThread(root, isThreadId(text) ? text : trashedId(root, text));
}

function trashedId(root: Root, text: string): string {
  try {
    return pickThread(trashedThreads(root), text).threadId;
  } catch (error) {
    throw isWorkflowError(error) && error.code === "THREAD_NOT_FOUND" ? notInTrash(text) : error;
  }
}

function startIn(path: string): StartRecord | null {
  try {
    return readStart(path);
  } catch {
    return null;
  }
}
