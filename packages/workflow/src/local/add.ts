import { hashOf } from "../bundle/hash.ts";
import { putBundle, type SideFiles } from "../bundle/store.ts";
import { changeRegistry } from "../registry/change.ts";
import { readRegistry } from "../registry/read.ts";
import { checkNewName, register } from "../registry/versions.ts";
import type { Added, RegisterOptions } from "../host/host.ts";
import type { Root } from "../storage/paths.ts";

/**
 * Judges a bundle, stores it and makes it the name's current version. An `.esm.js` is taken as it is;
 * a source is built first.
 *
 * The bundle's top level runs, in a process apart. Nothing is written when it, the name or the
 * registry is refused. Adding the same bytes again changes nothing but brings back missing files.
 * @throws WorkflowError those of `prepareBundle` and of {@link registerBundle}.
 * @example await addWorkflow(openRoot(), "review", "review.esm.js")
 */
export async function addWorkflow(
  root: Root,
  name: string,
  file: string,
  options: RegisterOptions = {},
): Promise<Added> {
  checkNewName(await readRegistry(root), name);
  const { prepareBundle } = await import("../bundle/prepare.ts");
  const { bytes, ...beside } = await prepareBundle(file, options);
  return await registerBundle(root, name, bytes, beside);
}

/**
 * Judges a bundle as `addWorkflow` does and stores it under its hash alone: no name points to it, and
 * it stays for as long as a thread needs it.
 *
 * @throws WorkflowError those of `prepareBundle`, `HASH_COLLISION`; nothing is then written.
 */
export async function storeBundle(
  root: Root,
  file: string,
  options: RegisterOptions = {},
): Promise<{ hash: string }> {
  const { prepareBundle } = await import("../bundle/prepare.ts");
  const { bytes, ...beside } = await prepareBundle(file, options);
  return { hash: await putBundle(root, bytes, beside) };
}

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
