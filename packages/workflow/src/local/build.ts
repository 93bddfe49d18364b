import { hashOf } from "../bundle/hash.ts";
import type { SourceKind } from "../bundle/build.ts";
import { WorkflowError } from "../contract/error.ts";
import { show } from "../contract/show.ts";

/** A bundle that was built and checked, and is stored nowhere yet. `map` is its source map. */
export type BuiltBundle = { hash: string; bytes: Uint8Array; map: string };

/**
 * Builds a source into a bundle and judges it as `addWorkflow` does. The bundle's top level runs, in
 * a process apart; nothing is written.
 *
 * @throws WorkflowError `NOT_A_SOURCE` (usage), and those of `prepareBundle`.
 */
export async function buildSource(
  file: string,
  options: { sources?: readonly SourceKind[] } = {},
): Promise<BuiltBundle> {
  const { prepareBundle } = await import("../bundle/prepare.ts");
  const { bytes, map } = await prepareBundle(file, options);
  if (map === undefined) throw notASource(file);
  return { hash: await hashOf(bytes), bytes, map };
}

function notASource(file: string): WorkflowError {
  return new WorkflowError({
    code: "NOT_A_SOURCE",
    kind: "usage",
    message: `${show(file)} is a bundle already`,
    hint: "register it: uncaged-workflow add <name> <file>",
  });
}
