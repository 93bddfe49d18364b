/*
 * Owns: the file `identity.json` of a storage root, which has the root's id. It is a module of its own because it takes a
 * lock, and a thread's start, which reads locations, loads none.
 */
import { WorkflowError } from "../contract/error.ts";
import { isRecord } from "../contract/show.ts";
import { system } from "../system/system.ts";
import { readOwnFile, writeFileAtomic } from "./files.ts";
import { parsed } from "./location.ts";
import { type HostIdentity } from "../control/control.ts";
import { waitForLock } from "./lock.ts";
import { identityPath, registryLockPath, type Root } from "./paths.ts";
import { createRoot } from "./root.ts";

const mostBytes = 64 * 1024;

/** The identity of a storage root. Its id is made when it is first asked for. @throws WorkflowError `ROOT_UNUSABLE`. */
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
  const message = `${path} has no id of this storage root`;
  throw WorkflowError.failed("ROOT_UNUSABLE", message, "bring the file back from a backup");
}

const newId = (): string =>
  Array.from({ length: 4 }, () => Math.floor(system.random() * 2 ** 32))
    .map((part) => part.toString(16).padStart(8, "0"))
    .join("");

// The lock goes with the process that holds it.
const noLimit = () => undefined;
