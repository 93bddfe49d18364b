import type { WorkflowError } from "../contract/error.ts";
import { writeFileAtomic } from "../disk/files.ts";
import { waitForLock } from "../disk/lock.ts";
import { type Root, registryLockPath, registryPath } from "../disk/paths.ts";
import { createRoot } from "../disk/root.ts";
import { system } from "../system/system.ts";
import { type Found, findRegistry } from "./read.ts";
import { backupPath } from "../disk/paths.ts";
import type { SyntaxViolation } from "./parse.ts";
import { maxRegistryBytes, type Registry, serialiseRegistry } from "./registry.ts";
import { registryChanged, registryFull, registryLocked, registryNewer } from "./errors.ts";

// In milliseconds. Concurrent changes take turns, so give up only if the registry does not change during this time.
const stuckMs = 10_000;

/**
 * Reads the registry, passes it to `change` and writes the result, under the registry's lock, so that no concurrent
 * change is lost. Nothing is written when `change` throws or returns the same registry. The previous text is kept as
 * `workflow.yaml.bak`.
 *
 * The file of a newer version is readable but can't be changed. Comments in a hand-edited file are dropped.
 * @throws WorkflowError `REGISTRY_LOCKED` after 10 seconds without any change; `REGISTRY_FULL` (more than 16 MiB); the
 * errors of {@link findOwn}, the disk and `change`.
 */
export async function changeRegistry<Change extends { registry: Registry }>(
  root: Root,
  change: (registry: Registry) => Change | Promise<Change>,
): Promise<Change> {
  return await withRegistryLock(root, async () => {
    const path = registryPath(root);
    const { registry, text: before } = findOwn(root);
    const changed = await change(registry);
    if (changed.registry === registry) {
      // Write the file again, because an earlier change may have failed to sync it.
      if (before !== null) writeFileAtomic(path, before);
      return changed;
    }
    const text = serialiseRegistry(changed.registry);
    if (Buffer.byteLength(text) > maxRegistryBytes) throw registryFull(path, maxRegistryBytes);
    // Write a backup with the first change, so that a missing registry is recognized as lost.
    writeFileAtomic(backupPath(root), before ?? serialiseRegistry(registry));
    writeFileAtomic(path, text);
    return changed;
  });
}

/**
 * Reads a registry that this version can write: without unknown keys, and not edited.
 * @throws WorkflowError `REGISTRY_BROKEN`, `REGISTRY_NEWER`, `REGISTRY_CHANGED`.
 */
export function findOwn(root: Root): Found {
  const found = findRegistry(root);
  if (found.changed) throw changedError(root, found.changed);
  if (!found.unknown) return found;
  const { line, column, reason } = found.unknown;
  throw registryNewer(`${registryPath(root)}:${line}:${column}`, reason);
}

function changedError(root: Root, { line, column, reason }: SyntaxViolation): WorkflowError {
  const path = registryPath(root);
  return registryChanged(`${path}:${line}:${column}`, reason, { line, backup: backupPath(root) });
}

/** Runs `act` under the registry's lock. Creates a missing storage root. */
export async function withRegistryLock<T>(root: Root, act: () => Promise<T>): Promise<T> {
  createRoot(root);
  const lock = await waitForLock(registryLockPath(root), untilStuck(root));
  try {
    return await act();
  } finally {
    lock.release();
  }
}

/** Returns a check that throws `REGISTRY_LOCKED` when the registry has not changed for 10 seconds. */
function untilStuck(root: Root): () => void {
  let last = versionOf(root);
  let since = system.clock.elapsed();
  return () => {
    const version = versionOf(root);
    if (version !== last) since = system.clock.elapsed();
    else if (system.clock.elapsed() - since > stuckMs) {
      throw registryLocked(registryPath(root));
    }
    last = version;
  };
}

/** Returns a fingerprint of the registry file, which differs after every write. */
function versionOf(root: Root): string {
  const found = system.files.stat(registryPath(root));
  return found ? `${found.ino} ${found.mtimeMs}` : "";
}
