import type { NewThread } from "../store/store.ts";
import { copyBlobs } from "./blobs.ts";
import { addDue } from "./due.ts";
import { noteJournal } from "./location.ts";
import { dataPath, journalPath, type Root } from "./paths.ts";
import { LogWriter } from "./writer.ts";
import type { Writing } from "./writing.ts";

/**
 * Writes the files of a new thread, its data log last: once the data log exists, the thread is complete. Durable on
 * return.
 * @throws WorkflowError the errors of the disk
 */
export function createFiles(root: Root, thread: NewThread, writing: Writing): LogWriter {
  const { hash, threadId, state, records, journal = [], blobsFrom } = thread;
  const ref = { hash, threadId };
  if (blobsFrom) copyBlobs(root, blobsFrom, ref);
  if (journal.length > 0) {
    void createLog(journalPath(root, hash, threadId), journal, writing).close();
    noteJournal(root, ref);
  }
  if (state.kind === "waiting" && state.dueAt !== null) {
    addDue(root, { ...ref, at: state.dueAt }, writing.made);
  }
  return createLog(dataPath(root, hash, threadId), records, writing);
}

const createLog = (path: string, records: readonly string[], writing: Writing): LogWriter =>
  LogWriter.create(path, (add) => records.forEach((record) => add(record)), writing);
