import { readThread, type Root, type ThreadRef } from "@uncaged/workflow/host";
import { type Checkpoint, fold, runStatus } from "@uncaged/workflow-steps";
import { documentsOf } from "./documents.ts";

/**
 * The checkpoint of a step workflow's thread: the state that its committed steps make.
 *
 * @throws WorkflowError those of `documentsOf`.
 */
export async function checkpointOf(root: Root, ref: ThreadRef): Promise<Checkpoint> {
  const { document, subflows } = await documentsOf(root, ref.hash);
  const { threadId, prompt, params, status, steps } = await readThread(root, ref);
  return fold(document, {
    threadId,
    prompt,
    params,
    steps,
    subflows,
    status: runStatus(status, steps),
  });
}
