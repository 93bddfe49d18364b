import { JournalFold } from "../record/journal.ts";
import type { Break, JournalHead } from "../record/record.ts";
import type { ThreadRef } from "../record/thread.ts";
import { system } from "../system/system.ts";
import { ifThere } from "./files.ts";
import { hasJournalNote } from "./location.ts";
import { type FileEnd, foldFile } from "./log.ts";
import { journalPath, type Root } from "./paths.ts";

/** A journal as read. `end` describes the end of its file; null without a file. */
export type ReadJournal = { fold: JournalFold; end: FileEnd | null; broken: Break | null };

/**
 * Reads the valid part of a journal, also during writes. `head` is the journal's head in the thread's log. With
 * `withUnended`, a last record without its newline counts.
 * @throws the system's error for an existing but unreadable file.
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
 * Returns the break in a thread's journal; null when the journal is valid or never existed. `head` is the journal's
 * head in the thread's log.
 * @throws the system's error for an existing but unreadable file.
 */
export function checkJournal(root: Root, ref: ThreadRef, head: JournalHead | null): Break | null {
  const { broken } = readJournal(journalPath(root, ref.hash, ref.threadId), head);
  return broken ?? lostJournal(root, ref);
}

/** Returns the break for a journal that is missing although the thread's location file notes it; null otherwise. */
export function lostJournal(root: Root, ref: ThreadRef): Break | null {
  const isThere = system.files.exists(journalPath(root, ref.hash, ref.threadId));
  if (isThere || !hasJournalNote(root, ref)) return null;
  return { line: 1, offset: 0, reason: "the journal is missing" };
}
