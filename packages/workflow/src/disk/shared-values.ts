import type { SharedValues } from "../contract/shared-values.ts";
import { O_RDWR } from "../system/port.ts";
import { system } from "../system/system.ts";
import { readFully, sizeOf, withFile, writeAll } from "./files.ts";
import { type Lock, waitForLock } from "./lock.ts";
import { isSharedName, type Root, sharedPath } from "./paths.ts";

const mostBytes = 64 * 1024;
// A process that holds the lock for longer has been suspended.
const mostWaitMs = 250;

/**
 * Returns the values that the threads of a storage root share. Each value is a file, which is locked during a change.
 * Does not sync the files: after a crash, a partially written value counts as missing.
 */
export const sharedIn = (root: Root): SharedValues => ({
  async update(name, change) {
    if (!isSharedName(name)) return false;
    const path = sharedPath(root, name);
    const lock = await lockOf(path);
    if (!lock) return false;
    try {
      withFile(path, (fd) => changeFile(fd, change), O_RDWR);
      return true;
    } catch {
      return false;
    } finally {
      lock.release();
    }
  },
});

async function lockOf(path: string): Promise<Lock | null> {
  const deadline = system.clock.elapsed() + mostWaitMs;
  try {
    return await waitForLock(path, () => {
      if (system.clock.elapsed() > deadline) throw new Error("held for too long");
    });
  } catch {
    return null;
  }
}

function changeFile(fd: number, change: (value: unknown) => unknown): void {
  const bytes = Buffer.alloc(Math.min(sizeOf(fd), mostBytes));
  const text = bytes.toString("utf8", 0, readFully(fd, bytes, 0));
  const next = change(valueIn(text));
  if (next === undefined) return;
  const written = Buffer.from(JSON.stringify(next));
  if (written.length > mostBytes) throw new Error("the value is too long");
  writeAll(fd, written);
  system.files.truncate(fd, written.length);
}

function valueIn(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
