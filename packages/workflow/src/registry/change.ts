import { type WorkflowError, failedError } from "../contract/error.ts";
import { writeFileAtomic } from "../storage/files.ts";
import { type Lock, takeLock } from "../storage/lock.ts";
import { registryLockPath, registryPath, type Root } from "../storage/paths.ts";
import { createRoot } from "../storage/root.ts";
import { backupPath, findRegistry } from "./read.ts";
import { maxRegistryBytes, type Registry, serialiseRegistry } from "./registry.ts";

const waitMs = 10_000;

/**
 * Reads the registry, gives it to `change` and writes what comes back, all under the registry's lock:
 * of changes at once none is lost. Nothing is written when `change` throws or gives the same registry
 * back. The text before the change is kept as `workflow.yaml.bak`.
 *
 * A file that a newer version wrote is read by all commands and changed by none; comments in a file
 * that was edited by hand are not kept.
 * @throws WorkflowError `REGISTRY_LOCKED` after 10 seconds, `REGISTRY_BROKEN`, `REGISTRY_NEWER`, those
 * `REGISTRY_FULL` (more than 16 MiB), of the disk, and what `change` throws.
 */
export async function changeRegistry<Change extends { registry: Registry }>(
  root: Root,
  change: (registry: Registry) => Change | Promise<Change>,
): Promise<Change> {
  return await withRegistryLock(root, async () => {
    const found = await findRegistry(root);
    if (found.unknown) throw newer(root, found.unknown);
    const changed = await change(found.registry);
    if (changed.registry === found.registry) return changed;
    const text = serialiseRegistry(changed.registry);
    if (Buffer.byteLength(text) > maxRegistryBytes) throw full(root);
    if (found.text !== null) writeFileAtomic(backupPath(root), found.text);
    writeFileAtomic(registryPath(root), text);
    return changed;
  });
}

/** Does something while no one else changes the registry. Makes the storage root when it is missing. */
export async function withRegistryLock<T>(root: Root, act: () => Promise<T>): Promise<T> {
  createRoot(root);
  const lock = await waitForLock(root);
  try {
    return await act();
  } finally {
    lock.release();
  }
}

// Polled and not waited for: its owner may be this very process, which a blocking wait would stop.
async function waitForLock(root: Root): Promise<Lock> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const lock = takeLock(registryLockPath(root), 0);
    if (lock) return lock;
    if (performance.now() > deadline) throw locked(root);
    await Bun.sleep(2 + Math.random() * 10);
  }
}

function locked(root: Root): WorkflowError {
  return failedError(
    "REGISTRY_LOCKED",
    `${registryPath(root)} is being changed by another process`,
    "try again; the lock goes with the process that holds it",
  );
}

function newer(root: Root, at: { line: number; column: number; reason: string }): WorkflowError {
  return failedError(
    "REGISTRY_NEWER",
    `${registryPath(root)}:${at.line}:${at.column}: ${at.reason}, and writing would lose it`,
    "use the version of uncaged-workflow that wrote the file, or remove the key",
  );
}

function full(root: Root): WorkflowError {
  return failedError(
    "REGISTRY_FULL",
    `${registryPath(root)} would have more than ${maxRegistryBytes} bytes`,
    "remove workflows that you no longer need",
  );
}
