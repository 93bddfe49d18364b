import { descriptorOf, type Root, WorkflowError } from "@uncaged/workflow/host";
import { type Documents, documentsIn } from "@uncaged/workflow-steps";

/**
 * The documents of the step workflow that a bundle was made of.
 *
 * @throws WorkflowError `NO_STEP_WORKFLOW` when it was made of none, `DOCUMENT_TOO_LONG` when its
 * descriptor could not hold the document.
 */
export async function documentsOf(root: Root, hash: string): Promise<Documents> {
  const descriptor = await descriptorOf(root, hash);
  const found = descriptor && documentsIn(descriptor);
  if (!found) {
    throw new WorkflowError({
      code: "NO_STEP_WORKFLOW",
      kind: "failed",
      message: `the bundle ${hash} was made of no step workflow`,
      hint: "see a thread's steps: uncaged-workflow thread <id> --steps; go on from one: uncaged-workflow fork <id>",
    });
  }
  const { document, subflows } = found;
  if (document) return { document, subflows };
  throw new WorkflowError({
    code: "DOCUMENT_TOO_LONG",
    kind: "failed",
    message: `the step workflow of ${hash} is too long to stand in the bundle's descriptor`,
    hint: "512 Ki characters are the most; go on from its steps: uncaged-workflow fork <id> --at-step N",
  });
}
