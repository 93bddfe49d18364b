import { existsSync } from "node:fs";
import { WorkflowError } from "../contract/error.ts";
import { readRegistry } from "../registry/read.ts";
import { type Resolved, resolve } from "../registry/resolve.ts";
import { storedHashes } from "../storage/list.ts";
import { bundlePath, type Root } from "../storage/paths.ts";

/**
 * What is to be run: a name, `name@hash`, or a hash; hashes may be shortened to a unique beginning,
 * of at least 4 digits when no name stands before it. A bundle that no name points to bears its hash
 * as its name.
 *
 * @throws WorkflowError `WORKFLOW_NOT_FOUND`, `VERSION_NOT_FOUND` (missing), `VERSION_AMBIGUOUS`
 * (usage), `BUNDLE_MISSING`, `REGISTRY_BROKEN`.
 */
export async function resolveWorkflow(root: Root, nameOrHash: string): Promise<Resolved> {
  const found = resolve(await readRegistry(root), nameOrHash, () => storedHashes(root));
  checkStored(root, found.name, found.hash);
  return found;
}

/** @throws WorkflowError `BUNDLE_MISSING` when the file that a version points to is not there. */
export function checkStored(root: Root, name: string, hash: string): void {
  const path = bundlePath(root, hash);
  if (existsSync(path)) return;
  throw new WorkflowError({
    code: "BUNDLE_MISSING",
    kind: "missing",
    message: `the bundle of ${name} is gone: ${path}`,
    hint: "add the same file again, or roll back to another version",
  });
}
