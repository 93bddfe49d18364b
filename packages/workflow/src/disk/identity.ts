/* Owns: the file `identity.json` of a storage root, which contains the root's id. */
import { isRecord } from "../contract/show.ts";
import { system } from "../system/system.ts";
import { readOwnFile, writeFileAtomic } from "./files.ts";
import { parsed } from "./location.ts";
import { sha256 } from "../record/sha256.ts";
import type { StartedIn } from "../record/record.ts";
import { envNames } from "../record/recovery.ts";
import { type HostIdentity } from "../control/control.ts";
import { waitForLock } from "./lock.ts";
import { identityPath, registryLockPath, type Root } from "./paths.ts";
import { createRoot } from "./root.ts";
import { noRootId } from "./errors.ts";

const mostBytes = 64 * 1024;

/** Returns the identity of a storage root. Creates its id at the first call. @throws WorkflowError `ROOT_UNUSABLE`. */
export async function identityOfRoot(root: Root, machine: string): Promise<HostIdentity> {
  createRoot(root);
  const path = identityPath(root);
  const lock = system.files.exists(path)
    ? null
    : await waitForLock(registryLockPath(root), noLimit);
  try {
    if (!system.files.exists(path)) {
      writeFileAtomic(path, `${JSON.stringify({ id: newId() })}\n`);
    }
  } finally {
    lock?.release();
  }
  const found = parsed(readOwnFile(path, mostBytes) ?? new Uint8Array());
  if (isRecord(found) && typeof found.id === "string") {
    return { id: found.id, name: `${machine}:${root}` };
  }
  throw noRootId(path);
}

/**
 * Returns a fingerprint of a storage root that differs from the fingerprint of a copy: a hash of the root's id, its
 * path, the inode of `identity.json`, and the machine. Null before the root has an identity.
 */
export function rootMark(root: Root): string | null {
  const path = identityPath(root);
  const stat = system.files.stat(path);
  const bytes = stat && readOwnFile(path, mostBytes);
  const found = bytes && parsed(bytes);
  if (!stat || !isRecord(found) || typeof found.id !== "string") return null;
  const made = stat.birthtimeMs || stat.ctimeMs;
  return sha256(
    JSON.stringify([found.id, root, stat.ino, made, system.processes.machineId()]),
  ).slice(0, 32);
}

/**
 * Returns the record of a new thread's environment: the root's fingerprint and the names of variables; undefined when
 * the root's identity can't be created.
 */
export async function startedInRoot(
  root: Root,
  env: Readonly<Record<string, string>>,
): Promise<StartedIn | undefined> {
  try {
    if (rootMark(root) === null) await identityOfRoot(root, "");
    const mark = rootMark(root);
    return mark === null ? undefined : { root: mark, env: envNames(env) };
  } catch {
    // The thread can still start, but is then not resumed automatically.
    return undefined;
  }
}

const newId = (): string =>
  Array.from({ length: 4 }, () => Math.floor(system.random() * 2 ** 32))
    .map((part) => part.toString(16).padStart(8, "0"))
    .join("");

// Wait without a limit: the system releases the lock when its process ends.
const noLimit = () => undefined;
