import { isHash, isThreadId } from "../contract/names.ts";
import type { ThreadRef } from "../record/thread.ts";
import { system } from "../system/system.ts";
import { loggedHashes, logsDir, namesIn, type Root, threadsDir } from "./paths.ts";

const logFile = /^([0-9A-Z]{26})\.(.+)$/;

/**
 * Calls `onFile` when a file of a thread was written, created or removed, if the system reports the change. `file` is
 * the name without the thread's id, such as `data.jsonl`. A file in a new folder may be reported twice. `ensure` starts
 * to watch folders that could not be watched before.
 */
export function watchLogs(
  root: Root,
  onFile: (ref: ThreadRef, file: string) => void,
): { ensure: () => void; close: () => void } {
  const folders = new Map<string, { close(): void }>();
  const add = (folder: string, onName: (name: string) => void): boolean => {
    if (folders.has(folder)) return false;
    try {
      const forget = () => folders.delete(folder);
      folders.set(folder, system.files.watch(folder, onName, forget));
      return true;
    } catch {
      // The folder is missing or can't be watched now.
      return false;
    }
  };
  const ensure = (): void => {
    add(logsDir(root), (name) => {
      if (isHash(name)) ensure();
    });
    for (const hash of hashesIn(root)) {
      const report = (name: string) => {
        const [, threadId = "", file = ""] = logFile.exec(name) ?? [];
        if (isThreadId(threadId)) onFile({ hash, threadId }, file);
      };
      const isNew = add(threadsDir(root, hash), report);
      // Report files that were created before the folder was watched.
      if (isNew && isBegun) for (const name of quietNames(threadsDir(root, hash))) report(name);
    }
  };
  let isBegun = false;
  ensure();
  isBegun = true;
  const close = (): void => {
    for (const watcher of folders.values()) watcher.close();
    folders.clear();
  };
  return { ensure, close };
}

// Returns an empty list on errors: an unreadable folder may be readable at the next call.
function hashesIn(root: Root): string[] {
  try {
    return loggedHashes(root);
  } catch {
    return [];
  }
}

function quietNames(folder: string): string[] {
  try {
    return namesIn(folder);
  } catch {
    return [];
  }
}
