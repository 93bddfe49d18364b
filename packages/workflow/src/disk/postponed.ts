import { isRecord } from "../contract/show.ts";
import type { ThreadInfo } from "../store/store.ts";
import { readOwnFile, writeFileAtomic } from "./files.ts";
import { postponedPath, type Root } from "./paths.ts";

const mostBytes = 1024;

/** Postpones a thread until a time in milliseconds since the epoch, or until its log has another record. */
export function notePostponed(root: Root, info: ThreadInfo, until: number): void {
  const { hash, threadId, records } = info;
  writeFileAtomic(postponedPath(root, hash, threadId), `${JSON.stringify({ until, records })}\n`);
}

/** Returns whether a thread is postponed. Ignores an unreadable note. */
export function isPostponed(root: Root, info: ThreadInfo, now: number): boolean {
  const bytes = readOwnFile(postponedPath(root, info.hash, info.threadId), mostBytes);
  if (bytes === null) return false;
  try {
    const note: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isRecord(note) && note.records === info.records && Number(note.until) > now;
  } catch {
    return false;
  }
}
