import { WorkflowError } from "../contract/error.ts";
import type { Controlled, RemoveRequest } from "../control/control.ts";
import type { Root } from "../storage/paths.ts";
import type { ThreadRef } from "../thread/thread.ts";
import { toThread } from "./resume.ts";
import { askWorker } from "./spawn.ts";
import { readThread } from "./threads.ts";

/**
 * Removes a thread's logs. One that runs, is paused or waits for an answer is removed only with
 * `force`, which kills it first.
 *
 * @throws WorkflowError `THREAD_RUNNING`, `THREAD_NOT_FOUND` (missing).
 */
export async function removeThread(
  root: Root,
  ref: ThreadRef,
  { force = false }: { force?: boolean } = {},
): Promise<Controlled> {
  const { status } = await readThread(root, ref);
  const open = status === "running" || status === "paused" || status === "waiting";
  if (open && !force) {
    throw new WorkflowError({
      code: "THREAD_RUNNING",
      kind: "failed",
      message: `${ref.threadId} is ${status}`,
      hint: "kill it and remove it at once: --force",
    });
  }
  const body: RemoveRequest = { force };
  return await askWorker(root, ref.hash, { ...toThread("DELETE", ref), body });
}
