import { readThread, type Root, type ThreadRef } from "@uncaged/workflow/host";
import { type Checkpoint, recordedCheckpoint } from "@uncaged/workflow-steps";
import { documentsIn } from "./documents.ts";

/**
 * The checkpoint of a step workflow's thread: the state that its committed steps make.
 *
 * @throws WorkflowError those of `documentsOf`.
 */
export const checkpointOf = async (root: Root, ref: ThreadRef): Promise<Checkpoint> =>
  recordedCheckpoint(await documentsIn(root, ref.hash), await readThread(root, ref));
