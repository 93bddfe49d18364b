import type { Bundle, Descriptor } from "../contract/contract.ts";
import { isRecord } from "../contract/show.ts";
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
import { sha256 } from "../record/sha256.ts";
import { system } from "../system/system.ts";
import { descriptorYaml } from "./descriptor-yaml.ts";
import { hashOf } from "./hash.ts";
import { loadFailed, loadProblem, toBundle } from "./module.ts";
import { maxBundleSize } from "../disk/bundle-files.ts";
import { checkProven, maxDescriptorBytes, proofsOf } from "./proof.ts";
import { sealedDescriptor, sealIn } from "./seal.ts";
import { guardRequires } from "./require-guard.ts";
import { SourceMap } from "./source-map.ts";
import { bundleChanged, bundleMissing } from "./errors.ts";
import { hashCollision } from "../registry/errors.ts";

/** A loaded bundle, and the SHA-256 of its bytes. */
export type LoadedBundle = Bundle & { readonly sha256: string };

/** The files beside a bundle: its descriptor, the author's type declarations, its source map. */
export type SideFiles = { descriptor: Descriptor; types?: string; map?: string };

/**
 * Stores a bundle and returns its hash. The first call decides the files beside the bundle: storing the same bundle
 * again, as each run of a document does, only adds missing files. It rewrites existing files with the same bytes,
 * because an earlier write may be in the page cache without having reached the disk.
 *
 * Writes the bundle last: once it exists, all files beside it are durable.
 *
 * @throws WorkflowError `HASH_COLLISION`, and the errors of the disk.
 */
export async function putBundle(root: Root, bytes: Uint8Array, beside: SideFiles): Promise<string> {
  const hash = hashOf(bytes);
  const sum = sha256(bytes);
  checkNotTwin(root, hash, sum);
  makeFolder(bundlesDir(root));
  const { seal, text } = storedSeal(root, hash);
  const first = isRecord(seal) && seal.bundle === sum ? seal : null;
  const isTrusted = first !== null || seal === null;
  const types = sideFile(typesPath(root, hash), beside.types, first?.types, isTrusted);
  const map = sideFile(mapPath(root, hash), beside.map, first?.map, isTrusted);
  const descriptor = sealedDescriptor(first ? text : descriptorYaml(beside.descriptor), {
    bundle: sum,
    ...(types && { types: types.sum }),
    ...(map && { map: map.sum }),
  });
  writeFileAtomic(descriptorPath(root, hash), descriptor);
  if (types?.content !== undefined) writeFileAtomic(typesPath(root, hash), types.content);
  if (map?.content !== undefined) writeFileAtomic(mapPath(root, hash), map.content);
  writeFileAtomic(bundlePath(root, hash), bytes);
  return hash;
}

/**
 * Returns a file beside a bundle: the stored file if it is the first stored file, else the given file. `known` is the
 * recorded SHA-256 of the first stored file. It is returned alone when that file is lost and no file is given.
 */
function sideFile(
  path: string,
  given: string | undefined,
  known: string | undefined,
  isTrusted: boolean,
): { sum: string; content?: string | Uint8Array } | null {
  const stored = readOwnFile(path, maxSideBytes);
  const isFirst = stored && isTrusted && (known === undefined || sha256(stored) === known);
  const content = isFirst ? stored : (given ?? (known === undefined ? stored : null));
  if (content !== null) return { sum: sha256(content), content };
  return known === undefined ? null : { sum: known };
}

/**
 * Checks that a bundle with the SHA-256 `own` may be stored under a hash: `own` must equal the recorded SHA-256, or
 * without a record the SHA-256 of the stored bundle, if any.
 *
 * @throws WorkflowError `HASH_COLLISION`
 */
export function checkNotTwin(root: Root, hash: string, own: string): void {
  const [proof] = proofsOf(root, hash);
  const present = proof ? null : readOwnFile(bundlePath(root, hash), maxBundleSize);
  const first = proof?.sha256 ?? (present && hashOf(present) === hash ? sha256(present) : own);
  if (first !== own) throw hashCollision(hash);
}

const maxSideBytes = 256 << 20;

const storedSeal = (root: Root, hash: string) => {
  const bytes = readOwnFile(descriptorPath(root, hash), maxDescriptorBytes);
  return sealIn(new TextDecoder().decode(bytes ?? new Uint8Array()));
};

/**
 * Returns the problems of the files beside a bundle, each with its path. `bundle` is the bundle's SHA-256, if known. A
 * descriptor of an earlier version of the format lacks the seal: its files have no problems.
 *
 * @throws WorkflowError the errors of the disk
 */
export function sideProblems(
  root: Root,
  hash: string,
  bundle: string | null,
): { path: string; message: string }[] {
  const path = descriptorPath(root, hash);
  const { seal } = storedSeal(root, hash);
  if (seal === null) return [];
  if (seal === "broken") return [{ path, message: "it differs from the stored descriptor" }];
  const problems: { path: string; message: string }[] = [];
  if (bundle !== null && seal.bundle !== bundle) {
    problems.push({ path, message: "it is the descriptor of another bundle" });
  }
  for (const [wanted, file] of [
    [seal.types, typesPath(root, hash)],
    [seal.map, mapPath(root, hash)],
  ] as const) {
    if (wanted === undefined) continue;
    const bytes = readOwnFile(file, maxSideBytes);
    if (bytes === null) problems.push({ path: file, message: "it is missing" });
    else if (sha256(bytes) !== wanted)
      problems.push({ path: file, message: "it differs from the stored file" });
  }
  return problems;
}

/**
 * Reads a stored bundle and verifies its hash and its recorded SHA-256.
 *
 * @throws WorkflowError `BUNDLE_MISSING`, `BUNDLE_CHANGED`, and the errors of the disk.
 */
export async function readBundle(root: Root, hash: string): Promise<Uint8Array> {
  const bytes = readHashed(root, hash);
  checkProven(root, hash, bytes);
  return bytes;
}

/** Reads a stored bundle and verifies its hash alone. @throws WorkflowError the errors of {@link readBundle}. */
export function readHashed(root: Root, hash: string): Uint8Array {
  const path = bundlePath(root, hash);
  const bytes = readOwnFile(path, maxBundleSize);
  if (bytes === null) throw bundleMissing(path);
  const now = hashOf(bytes);
  if (now === hash) return bytes;
  throw bundleChanged(path, now);
}

/**
 * Verifies a stored bundle, calls `prepare`, and loads the bundle into this process, which runs its top level.
 *
 * @throws WorkflowError `BUNDLE_MISSING`, `BUNDLE_CHANGED`, `BUNDLE_LOAD_FAILED`, `BUNDLE_REFUSED`.
 */
export async function loadBundle(
  root: Root,
  hash: string,
  prepare: () => void = () => undefined,
): Promise<LoadedBundle> {
  const own = sha256(await readBundle(root, hash));
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
    return { ...toBundle(module), sha256: own };
  } catch (error) {
    if (!isWorkflowError(error)) throw error;
    throw new WorkflowError({ ...toErrorRecord(error), message: `${path}: ${error.message}` });
  }
}
