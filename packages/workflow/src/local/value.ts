import { WorkflowError } from "../contract/error.ts";
import { diskError } from "../storage/disk-error.ts";
import { type Root, valuesPath } from "../storage/paths.ts";
import type { ThreadRef } from "../thread/thread.ts";
import { valueAt } from "../log/values.ts";

/**
 * The JSON of a value that was too long for its event. `at` is what stands in the event for it, and its
 * `length` says how many characters the JSON must have.
 *
 * @throws WorkflowError `VALUE_NOT_FOUND` (missing) when no value begins there; those of the disk.
 */
export function readValue(root: Root, { hash, threadId }: ThreadRef, at: number): string {
  const path = valuesPath(root, hash, threadId);
  const json = Number.isSafeInteger(at) && at >= 0 ? read(path, at) : null;
  if (json !== null) return json;
  throw new WorkflowError({
    code: "VALUE_NOT_FOUND",
    kind: "missing",
    message: `${threadId} keeps no value at byte ${at}`,
    hint: `see what its events say in "at": uncaged-workflow logs ${threadId} --json`,
  });
}

function read(path: string, at: number): string | null {
  try {
    return valueAt(path, at);
  } catch (error) {
    throw diskError(error, "read", path);
  }
}
