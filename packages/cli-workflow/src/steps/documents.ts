import { descriptorOf, type Root, type ThreadRef, WorkflowError } from "@uncaged/workflow/host";
import { type Documents, documentsIn } from "@uncaged/workflow-steps";

/**
 * The documents of the step workflow that a thread runs.
 *
 * @throws WorkflowError `NO_STEP_WORKFLOW` when its bundle is none, `DOCUMENT_TOO_LONG` when its
 * descriptor could not hold the document.
 */
export async function documentsOf(root: Root, { hash, threadId }: ThreadRef): Promise<Documents> {
  const descriptor = await descriptorOf(root, hash);
  const found = descriptor && documentsIn(descriptor);
  if (!found) {
    throw new WorkflowError({
      code: "NO_STEP_WORKFLOW",
      kind: "failed",
      message: `${threadId} is no thread of a step workflow: the bundle ${hash} was made of none`,
      hint: `see its steps: uncaged-workflow thread ${threadId} --steps; go on from one: uncaged-workflow fork`,
    });
  }
  const { document, subflows } = found;
  if (document) return { document, subflows };
  throw new WorkflowError({
    code: "DOCUMENT_TOO_LONG",
    kind: "failed",
    message: `the step workflow of ${hash} is too long to stand in the bundle's descriptor`,
    hint: "split it into workflows that run each other: 512 Ki characters in all are the most",
  });
}
