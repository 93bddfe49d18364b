import type { Bundle } from "../contract/contract.ts";
import { fromErrorRecord, isWorkflowError, toErrorRecord } from "../contract/error.ts";
import { bundlePath, mapPath, type Root } from "../storage/paths.ts";
import { toBundle } from "./bundle.ts";
import { loadFailed, loadProblem, readMap } from "./load-error.ts";
import { readBundle } from "./store.ts";

/**
 * Loads a stored bundle into this process, after its bytes were hashed again. Its top level runs.
 *
 * For a worker, which runs what was judged when it was added (`inspect.ts`).
 * @throws WorkflowError `BUNDLE_MISSING`, `BUNDLE_CHANGED`; `BUNDLE_LOAD_FAILED` with the line and
 * column, by its source map those of the author's source; `BUNDLE_REFUSED`.
 */
export async function loadBundle(root: Root, hash: string): Promise<Bundle> {
  await readBundle(root, hash);
  const path = bundlePath(root, hash);
  let module: object;
  try {
    module = (await import(Bun.pathToFileURL(path).href)) as object;
  } catch (thrown) {
    throw await loadFailed(loadProblem(thrown, path), path, await readMap(mapPath(root, hash)));
  }
  try {
    return toBundle(module);
  } catch (error) {
    if (!isWorkflowError(error)) throw error;
    throw fromErrorRecord({ ...toErrorRecord(error), message: `${path}: ${error.message}` });
  }
}
