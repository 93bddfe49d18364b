import type { Bundle, Descriptor } from "../contract/contract.ts";
import { isWorkflowError, toErrorRecord, WorkflowError } from "../contract/error.ts";
import { makeFolder, readOwnFile, writeFileAtomic } from "../disk/files.ts";
import {
  bundlePath,
  bundlesDir,
  descriptorPath,
  mapPath,
  type Root,
  typesPath,
} from "../disk/paths.ts";
import { system } from "../system/system.ts";
import { descriptorYaml } from "./descriptor.ts";
import { hashOf } from "./hash.ts";
import { loadFailed, loadProblem, toBundle } from "./module.ts";
import { guardRequires } from "./require-guard.ts";
import { SourceMap } from "./source-map.ts";

/** The largest bundle, in bytes. */
export const maxBundleSize = 64 << 20;

/** The files beside a bundle: its descriptor, the author's type declarations, its source map. */
export type SideFiles = { descriptor: Descriptor; types?: string; map?: string };

/**
 * Stores a bundle under its hash and gives the hash. Files that are there are written anew, with the same
 * bytes: an earlier write of them may have failed to reach the disk, which its cache does not show.
 *
 * The bundle comes last: once it is there, all files beside it are there, on disk.
 * @throws WorkflowError `HASH_COLLISION`, and what the disk refuses.
 */
export async function putBundle(root: Root, bytes: Uint8Array, beside: SideFiles): Promise<string> {
  const hash = hashOf(bytes);
  const path = bundlePath(root, hash);
  const present = readOwnFile(path, maxBundleSize);
  if (present && !isSame(present, bytes) && hashOf(present) === hash) {
    throw WorkflowError.failed(
      "HASH_COLLISION",
      `another bundle has the hash ${hash} already`,
      "change a byte of the bundle, a comment say, and add it again",
    );
  }
  makeFolder(bundlesDir(root));
  writeFileAtomic(descriptorPath(root, hash), descriptorYaml(beside.descriptor));
  if (beside.types !== undefined) writeFileAtomic(typesPath(root, hash), beside.types);
  if (beside.map !== undefined) writeFileAtomic(mapPath(root, hash), beside.map);
  writeFileAtomic(path, bytes);
  return hash;
}

/**
 * The bytes of a stored bundle, hashed again.
 *
 * @throws WorkflowError `BUNDLE_MISSING` (missing), `BUNDLE_CHANGED`, and what the disk refuses.
 */
export async function readBundle(root: Root, hash: string): Promise<Uint8Array> {
  const path = bundlePath(root, hash);
  const bytes = readOwnFile(path, maxBundleSize);
  if (bytes === null) {
    throw WorkflowError.missing(
      "BUNDLE_MISSING",
      `there is no bundle ${hash}: ${path} is missing`,
      "add the same file again, or bring it back from a backup",
    );
  }
  const now = hashOf(bytes);
  if (now === hash) return bytes;
  throw WorkflowError.failed(
    "BUNDLE_CHANGED",
    `${path} was changed after it was added: its bytes now have the hash ${now}`,
    "add the original file again to bring it back, or the changed one as a new version",
  );
}

const isSame = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) === 0;

/**
 * Hashes the bytes of a stored bundle again and loads it into this process: its top level runs. `prepare` is called
 * before that.
 *
 * @throws WorkflowError `BUNDLE_MISSING`, `BUNDLE_CHANGED`, `BUNDLE_LOAD_FAILED`, `BUNDLE_REFUSED`.
 */
export async function loadBundle(
  root: Root,
  hash: string,
  prepare: () => void = () => undefined,
): Promise<Bundle> {
  await readBundle(root, hash);
  const path = bundlePath(root, hash);
  guardRequires(path);
  prepare();
  let module: object;
  try {
    module = await system.load(path);
  } catch (thrown) {
    throw loadFailed(loadProblem(thrown, path), path, SourceMap.at(mapPath(root, hash)));
  }
  try {
    return toBundle(module);
  } catch (error) {
    if (!isWorkflowError(error)) throw error;
    throw new WorkflowError({ ...toErrorRecord(error), message: `${path}: ${error.message}` });
  }
}
