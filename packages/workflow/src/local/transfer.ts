import { join } from "node:path";
import type { Step } from "../contract/contract.ts";
import { WorkflowError } from "../contract/error.ts";
import { wakesAt } from "../contract/wait.ts";
import { readLog } from "../log/log.ts";
import {
  type Break,
  type EndRecord,
  isEnd,
  type StartRecord,
  textOf,
  violationOfRecord,
} from "../log/record.ts";
import { recordText } from "../log/sum.ts";
import { durableWriting, LogWriter } from "../log/writer.ts";
import { diskError } from "../storage/disk-error.ts";
import { addDue } from "../storage/due.ts";
import {
  makeFolder,
  readFully,
  sizeOf,
  syncFolder,
  withFile,
  writeFileAtomic,
} from "../storage/files.ts";
import { takeLock } from "../storage/lock.ts";
import {
  checkThreadId,
  dataPath,
  infoPath,
  lockPath,
  namesIn,
  type Root,
  runDir,
  threadsDir,
} from "../storage/paths.ts";
import { createRoot } from "../storage/root.ts";
import { system } from "../system/system.ts";
import { notFound, threadWithId } from "../thread/selection.ts";
import { corruptError, type ThreadRef } from "../thread/thread.ts";

/*
 * How a thread leaves a storage root for another host, and comes back. It is on one host at a time: T1 its files leave
 * `logs/` before the other host has it, under the lock of its version, so that no worker here drives it any more. T2 until
 * the other host has confirmed it they are kept in `moved/`, from which an interrupted move continues. T3 what comes back
 * is written whole or not at all.
 */

/** A thread as another host takes it: its records and its debug log, each line without its newline and its checksum. */
export type ThreadFiles = { start: StartRecord; records: string[]; info: string[] };

const movedDir = (root: Root, hash: string) => join(root, "moved", hash);

/**
 * Takes a thread out of a storage root: it is listed and driven here no more.
 *
 * @throws WorkflowError `THREAD_RUNNING` while a worker of its version runs, `LOG_CORRUPT`, and those of the disk.
 */
export function detachThread(root: string, ref: ThreadRef): ThreadFiles {
  const { hash, threadId } = ref;
  const own = root as Root;
  makeFolder(runDir(own));
  const lock = takeLock(lockPath(own, hash), lockMs);
  if (!lock) {
    const message = `${threadId} can't be moved: the worker of its version runs`;
    const hint = "pause or kill what it drives; it ends some seconds after its last thread";
    throw WorkflowError.failed("THREAD_RUNNING", message, hint);
  }
  try {
    const files = readFiles(dataPath(own, hash, threadId), infoPath(own, hash, threadId), ref);
    moveFiles(threadsDir(own, hash), movedDir(own, hash), threadId);
    return files;
  } catch (error) {
    throw diskError(error, "move", dataPath(own, hash, threadId));
  } finally {
    lock.release();
  }
}

const lockMs = 300;

/** The threads that have left a storage root, and what is kept of each until {@link forgetMoved}. */
export function movedThread(root: string, threadId: string): (ThreadRef & ThreadFiles) | null {
  const own = root as Root;
  const ending = `${checkThreadId(threadId)}.data.jsonl`;
  const hash = namesIn(join(own, "moved")).find((one) =>
    namesIn(movedDir(own, one)).includes(ending),
  );
  if (hash === undefined) return null;
  const folder = movedDir(own, hash);
  const ref = { hash, threadId };
  return {
    ...ref,
    ...readFiles(join(folder, ending), join(folder, `${threadId}.info.jsonl`), ref),
  };
}

/** Gives a thread back that has left and that no other host has taken. */
export function reattachThread(root: string, { hash, threadId }: ThreadRef): void {
  moveFiles(movedDir(root as Root, hash), threadsDir(root as Root, hash), threadId);
}

/** Notes where a thread is that has left, for whoever looks for it here. */
export function noteMoved(root: string, { hash, threadId }: ThreadRef, host: string): void {
  writeFileAtomic(join(movedDir(root as Root, hash), `${threadId}.host`), `${host}\n`);
}

/**
 * Takes in a thread of another host, whose bundle is stored here. It is interrupted, waits or has ended, as its log says.
 *
 * @throws WorkflowError `THREAD_EXISTS`, and those of the disk.
 */
export async function attachThread(
  root: string,
  { start, records, info }: ThreadFiles,
): Promise<ThreadRef> {
  const own = root as Root;
  const ref = { hash: start.hash, threadId: checkThreadId(start.threadId) };
  if (threadWithId(own, ref.threadId)) {
    const message = `there is a thread ${ref.threadId} in this storage root already`;
    throw WorkflowError.failed("THREAD_EXISTS", message, "it is on one host at a time");
  }
  createRoot(own);
  makeFolder(threadsDir(own, ref.hash));
  if (info.length > 0) {
    writeFileAtomic(
      infoPath(own, ref.hash, ref.threadId),
      info.map((line) => `${line}\n`).join(""),
    );
  }
  const last = lastStep(records);
  const at = wakesAt(last);
  if (at !== null) addDue(own, { ...ref, at });
  const path = dataPath(own, ref.hash, ref.threadId);
  const writer = LogWriter.create(
    path,
    (add) => {
      add(recordText(textOf(start)));
      for (const record of records) add(recordText(record));
    },
    durableWriting(),
  );
  await writer.close();
  return ref;
}

function lastStep(records: readonly string[]): Step | null {
  const last = records.at(-1);
  if (last === undefined) return null;
  const record = JSON.parse(last) as Step | EndRecord;
  return violationOfRecord(record) === null && !isEnd(record) ? record : null;
}

function readFiles(data: string, info: string, ref: ThreadRef): ThreadFiles {
  const log = readLog(data);
  if (log.kind === "empty") throw notFound(ref.threadId);
  if (log.kind === "headless" || log.broken) throw corruptError(data, brokenIn(log));
  const records = [...log.steps, ...(log.end ? [log.end] : [])].map(textOf);
  const lines = system.files.exists(info) ? linesOf(info) : [];
  return { start: log.start, records, info: lines };
}

const brokenIn = ({ broken }: { broken: Break | null }): Break =>
  broken ?? { line: 1, offset: 0, reason: "it can't be read" };

function linesOf(path: string): string[] {
  const bytes = withFile(path, (fd) => {
    const buffer = Buffer.allocUnsafe(sizeOf(fd));
    return buffer.subarray(0, readFully(fd, buffer, 0));
  });
  // What stands behind the last newline is no whole line.
  return bytes.toString().split("\n").slice(0, -1);
}

/** Moves all files of a thread, its log last: where that is, the thread is. */
function moveFiles(from: string, to: string, threadId: string): void {
  makeFolder(to);
  const names = namesIn(from).filter((name) => name.startsWith(`${threadId}.`));
  const isLog = (name: string) => Number(name.endsWith(".data.jsonl"));
  for (const name of names.sort((a, b) => isLog(b) - isLog(a))) {
    system.files.rename(join(from, name), join(to, name));
  }
  syncFolder(to);
  syncFolder(from);
}
