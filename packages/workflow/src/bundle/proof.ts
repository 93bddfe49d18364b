/*
 * XXH64 names a bundle, and SHA-256 proves its identity: collisions of XXH64 are easy to make.
 *
 * Owns: the places that record the SHA-256 of a bundle, and their precedence. Does not own: reading and writing
 * bundles.
 *
 * P1 The first record decides. Later bytes with the same hash and another SHA-256 are never accepted.
 * P2 The order of the records is: the registry, the start record of the newest thread, the seal beside the bundle.
 * P3 A bundle of an earlier version of the format may have no record. It is accepted by its hash alone, and gets its
 *    first record from the next start of a thread, the next change of the registry, or the next `add`.
 */
import { readStart } from "../disk/log.ts";
import { placeOf } from "../registry/parse.ts";
import { findRegistry } from "../registry/read.ts";
import type { Registry, Version } from "../registry/registry.ts";
import { versionsOf } from "../registry/versions.ts";
import { maxBundleSize } from "../disk/bundle-files.ts";
import { readOwnFile } from "../disk/files.ts";
import {
  bundlePath,
  dataPath,
  descriptorPath,
  type Root,
  registryPath,
  threadIdsOf,
} from "../disk/paths.ts";
import { sha256 } from "../record/sha256.ts";
import { hashOf } from "./hash.ts";
import { sealIn } from "./seal.ts";
import { bundleDiffers, recordDiffers } from "./errors.ts";

/** A recorded SHA-256 of a bundle, and the record's `file:line`. `isSuspect`: the file was damaged or edited. */
export type Proof = { sha256: string; where: string; isSuspect?: boolean };

/** Maximum size of a stored descriptor, in bytes. */
export const maxDescriptorBytes = 8 * 1024 * 1024;

/** Returns the records of a bundle's SHA-256, the decisive record first. Skips unreadable files. */
export const proofsOf = (root: Root, hash: string): Proof[] => [
  ...inRegistry(root, hash),
  ...besideRegistry(root, hash),
];

/**
 * Checks a bundle's bytes against all records of its SHA-256; returns the SHA-256.
 *
 * @throws WorkflowError `BUNDLE_CHANGED`
 */
export function checkProven(root: Root, hash: string, bytes: Uint8Array): string {
  const own = sha256(bytes);
  const proofs = proofsOf(root, hash);
  const other = proofs.find((proof) => proof.sha256 !== own);
  if (!other) return own;
  const path = bundlePath(root, hash);
  const [file = ""] = other.where.split(/:\d+$/);
  const isBundleWrong =
    !other.isSuspect && (other === proofs[0] || file === descriptorPath(root, hash));
  if (isBundleWrong) throw bundleDiffers(path, other.where);
  throw recordDiffers(path, other.where, file);
}

function inRegistry(root: Root, hash: string): Proof[] {
  const found = quietly(() => findRegistry(root));
  if (!found) return [];
  return [...found.registry].flatMap(([name, workflow]) => {
    const proof = versionsOf(workflow).find((version) => version.hash === hash)?.sha256;
    const where = `${registryPath(root)}:${found.lines.get(placeOf(name, hash)) ?? 1}`;
    const isSuspect = found.changed !== null;
    return proof === undefined ? [] : [{ sha256: proof, where, isSuspect }];
  });
}

function besideRegistry(root: Root, hash: string): Proof[] {
  const proofs: Proof[] = [];
  const newest = threadIdsOf(root, hash).reduce((last, id) => (id > last ? id : last), "");
  if (newest !== "") {
    const path = dataPath(root, hash, newest);
    const proof = quietly(() => readStart(path))?.sha256;
    if (proof !== undefined) proofs.push({ sha256: proof, where: `${path}:1` });
  }
  const path = descriptorPath(root, hash);
  const stored = quietly(() => readOwnFile(path, maxDescriptorBytes));
  const { seal } = stored ? sealIn(new TextDecoder().decode(stored)) : { seal: null };
  if (seal && seal !== "broken") proofs.push({ sha256: seal.bundle, where: `${path}:1` });
  return proofs;
}

/**
 * Adds the SHA-256 to the versions of a registry that lack it, from a record or else from a bundle that matches its
 * hash. Returns the same registry if nothing changed. `known` has the SHA-256 of bundles that the caller has read, by
 * hash.
 */
export function withProofs(
  root: Root,
  registry: Registry,
  known: ReadonlyMap<string, string> = new Map(),
): Registry {
  const proven = (version: Version): Version => {
    if (version.sha256 !== undefined) return version;
    const proof = known.get(version.hash) ?? firstProof(root, version.hash);
    return proof === null ? version : { ...version, sha256: proof };
  };
  let isSame = true;
  const entries = [...registry].map(([name, workflow]) => {
    const [current, history] = [proven(workflow), workflow.history.map(proven)];
    const isChanged = current !== workflow || history.some((one, n) => one !== workflow.history[n]);
    if (!isChanged) return [name, workflow] as const;
    isSame = false;
    return [name, { ...current, history }] as const;
  });
  return isSame ? registry : new Map(entries);
}

function firstProof(root: Root, hash: string): string | null {
  const [recorded] = besideRegistry(root, hash);
  if (recorded) return recorded.sha256;
  const bytes = quietly(() => readOwnFile(bundlePath(root, hash), maxBundleSize));
  return bytes && hashOf(bytes) === hash ? sha256(bytes) : null;
}

function quietly<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
