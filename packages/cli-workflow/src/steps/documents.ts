import { descriptorOf, type Root } from "@uncaged/workflow/host";
import { type Documents, documentsOf } from "@uncaged/workflow-steps";

/**
 * The documents of the step workflow that a bundle of the storage root was made of.
 *
 * @throws WorkflowError those of `documentsOf`.
 */
export const documentsIn = async (root: Root, hash: string): Promise<Documents> =>
  documentsOf(hash, await descriptorOf(root, hash));
