import { JournalFold } from "../record/journal.ts";
import type { Break, JournalHead } from "../record/record.ts";
import type { ThreadRef } from "../record/thread.ts";
import { system } from "../system/system.ts";
import { ifThere } from "./files.ts";
import { hasJournalNote } from "./location.ts";
import { type FileEnd, foldFile } from "./log.ts";
import { journalPath, type Root } from "./paths.ts";

/** A journal that was read: `end` says how its file ends; null when there is no such file. */
export type ReadJournal = { fold: JournalFold; end: FileEnd | null; broken: Break | null };

/**
 * Reads a journal, also while it is written, as far as it is sound. `head` is what the thread's log knows of it. With
 * `withUnended` a last record without its newline counts.
 * @throws the system's error when the file is there and can't be read.
 */
export function readJournal(
  path: string,
  head: JournalHead | null,
  withUnended = false,
): ReadJournal {
  const fold = new JournalFold(path, head);
  const end = ifThere(() => foldFile(path, fold, withUnended, () => true));
  return { fold, end, broken: fold.broken ?? fold.lacks(end?.size ?? 0) };
}

/**
 * Where the journal of a thread of a storage root is broken; null when it is sound, or was never made. `head` is what the
 * thread's log knows of it.
 * @throws the system's error when the file is there and can't be read.
 */
export function checkJournal(root: Root, ref: ThreadRef, head: JournalHead | null): Break | null {
  const { broken } = readJournal(journalPath(root, ref.hash, ref.threadId), head);
  return broken ?? lostJournal(root, ref);
}

/** A journal that was there, as the thread's location says, and is no more. */
export function lostJournal(root: Root, ref: ThreadRef): Break | null {
  const isThere = system.files.exists(journalPath(root, ref.hash, ref.threadId));
  if (isThere || !hasJournalNote(root, ref)) return null;
  return { line: 1, offset: 0, reason: "the journal is missing" };
}
