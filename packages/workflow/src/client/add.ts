import { hashOf } from "../bundle/hash.ts";
import { putBundle, type SideFiles } from "../bundle/store.ts";
import { changeRegistry } from "../registry/change.ts";
import { register } from "../registry/versions.ts";
import type { Root } from "../storage/paths.ts";

/** What `add --json` prints. `unchanged` is true when it was the current version already. */
export type Added = { name: string; hash: string; unchanged: boolean };

/**
 * Stores a bundle that has been judged and makes it the name's current version. The bundle is on the
 * disk before the registry names it: a crash in between leaves a bundle that `gc` collects.
 *
 * @throws WorkflowError `BAD_NAME`, `NAME_TAKEN`, `HASH_COLLISION`, and those of `changeRegistry`.
 */
export async function registerBundle(
  root: Root,
  name: string,
  bytes: Uint8Array,
  beside: SideFiles,
): Promise<Added> {
  const hash = await hashOf(bytes);
  const { unchanged } = await changeRegistry(root, async (registry) => {
    const changed = register(registry, name, hash, Date.now());
    await putBundle(root, bytes, beside);
    return changed;
  });
  return { name, hash, unchanged };
}
