import { join } from "node:path";
import { markerOf, type TruncatedValue } from "../../contract/event.ts";
import { isRecord } from "../../contract/show.ts";
import type { JournalHead } from "../../record/record.ts";
import type { Problem } from "../../host/host.ts";
import { checkJournal } from "../../disk/journal.ts";
import { LineFile } from "../../disk/line-file.ts";
import { type LogOutline, scanLog, type Unreadable } from "../../disk/log.ts";
import { valueAt } from "../../disk/values.ts";
import { blobIds, readBlob } from "../../disk/blobs.ts";
import { isDueComplete, isListedDue, listDue, misplacedDue } from "../../disk/due.ts";
import { readOwnFile } from "../../disk/files.ts";
import { parsed, readLocation } from "../../disk/location.ts";
import {
  blobsDir,
  dataPath,
  dueDir,
  identityPath,
  infoPath,
  journalPath,
  locationPath,
  loggedHashes,
  movedDir,
  movedPath,
  namesIn,
  type Root,
  threadsDir,
  valuesPath,
} from "../../disk/paths.ts";
import { system } from "../../system/system.ts";
import { quietWakingTime, threadWithId } from "../../disk/threads.ts";
import type { ThreadRef } from "../../record/thread.ts";
import { oldJournal } from "../../worker/old-journal.ts";
import { isThreadId } from "../../contract/names.ts";
import { allThreads } from "../threads/view.ts";
import { problemOf } from "./verify-bundles.ts";

/** Problems of a thread's files. `bundle` is the SHA-256 of the stored bundle. */
export async function threadProblems(
  root: Root,
  ref: ThreadRef,
  bundle: string | undefined,
  onUnsealed: () => void,
): Promise<Problem[]> {
  const path = dataPath(root, ref.hash, ref.threadId);
  // Opening a special file may block; the inventory reports it.
  if (!system.files.statLink(path)?.isFile()) return [];
  let head: JournalHead | null = null;
  const onLog = (log: LogOutline) => {
    head = log.journal;
    if (log.sum === null) onUnsealed();
  };
  return [
    ...(await attempted(path, () => logProblems(root, ref, bundle, onLog))),
    ...(await attempted(infoPath(root, ref.hash, ref.threadId), () =>
      journalProblems(root, ref, head),
    )),
    ...(await attempted(valuesPath(root, ref.hash, ref.threadId), () => valueProblems(root, ref))),
    ...(await blobProblems(root, ref)),
    ...(await attempted(locationPath(root, ref.hash, ref.threadId), () => {
      readLocation(root, ref);
      return [];
    })),
  ];
}

async function attempted(
  path: string,
  act: () => Problem[] | Promise<Problem[]>,
): Promise<Problem[]> {
  try {
    return await act();
  } catch (error) {
    return [problemOf(path, error)];
  }
}

async function logProblems(
  root: Root,
  { hash, threadId }: ThreadRef,
  bundle: string | undefined,
  onLog: (log: LogOutline) => void,
): Promise<Problem[]> {
  const path = dataPath(root, hash, threadId);
  const { log, undoIds } = await settled(path);
  const kept = new Set(blobIds(root, hash, threadId));
  const problems: Problem[] = undoIds.flatMap(({ id, line }) => {
    const message = `missing, although ${path}:${line} names it`;
    return kept.has(id) ? [] : [{ path: join(blobsDir(root, hash, threadId), id), message }];
  });
  if (log.kind === "thread") onLog(log);
  const proof = log.kind === "thread" ? log.start.sha256 : undefined;
  if (proof !== undefined && bundle !== undefined && proof !== bundle) {
    const message = "the SHA-256 in the start record differs from that of the stored bundle";
    problems.push({ path, line: 1, offset: 0, message });
  }
  if (log.kind !== "empty" && log.broken) {
    const { line, offset, reason } = log.broken;
    problems.push({ path, line, offset, message: reason });
  }
  if (log.kind === "headless" || log.torn === 0) return problems;
  // A resume accepts a whole record without its newline.
  if (log.kind === "thread" && (log.broken || !log.isEnded)) return problems;
  const isEmpty = log.kind === "empty";
  const line = isEmpty ? 1 : 2 + log.steps + (log.end ? 1 : 0);
  const message = `the last ${log.torn} bytes are not a whole record: a crash cut them, and resume puts them aside`;
  problems.push({ path, line, offset: isEmpty ? 0 : log.size, message });
  return problems;
}

/** Problems of a thread's journal, whose head the log records, and of a journal of an earlier version. */
function journalProblems(root: Root, ref: ThreadRef, head: JournalHead | null): Problem[] {
  const broken = checkJournal(root, ref, head);
  if (broken) {
    const { line, offset, reason } = broken;
    const path = journalPath(root, ref.hash, ref.threadId);
    return [{ path, line, offset, message: reason }];
  }
  oldJournal(root, ref).checkAll();
  return [];
}

/** Missing or changed values that a thread's events refer to. */
function valueProblems(root: Root, { hash, threadId }: ThreadRef): Problem[] {
  const [info, path] = [infoPath(root, hash, threadId), valuesPath(root, hash, threadId)];
  const problems: Problem[] = [];
  let line = 0;
  for (const { value } of new LineFile(info).forward(0, ['"_truncated":true'])) {
    line += 1;
    for (const { at, length, preview } of markersIn(value)) {
      const json = valueAt(path, at);
      const found = json === null ? null : markerOf(json);
      if (found?.length === length && found.preview === preview) continue;
      const message = `the value at byte ${at}, which line ${line} of ${info} refers to, is missing or damaged`;
      problems.push({ path, offset: at, message });
    }
  }
  return problems;
}

function markersIn(value: unknown): (TruncatedValue & { at: number })[] {
  if (typeof value !== "object" || value === null) return [];
  if (isRecord(value) && value._truncated === true) {
    return typeof value.at === "number" ? [value as TruncatedValue & { at: number }] : [];
  }
  return Object.values(value).flatMap(markersIn);
}

async function blobProblems(root: Root, ref: ThreadRef): Promise<Problem[]> {
  const { hash, threadId } = ref;
  const folder = blobsDir(root, hash, threadId);
  const problems: Problem[] = [];
  for (const id of blobIds(root, hash, threadId)) {
    const path = join(folder, id);
    // The inventory reports special files.
    if (!system.files.statLink(path)?.isFile()) continue;
    problems.push(...(await attempted(path, () => (readBlob(path, id), []))));
  }
  return problems;
}

/** A blob for undoing an edit, and the line of the log that names it. */
type UndoId = { id: string; line: number };

/** Matches undo ids in tool results, including JSON within a string. */
const undoId = /undoId[\\":\s]+([0-9a-f]{32})(?![0-9a-f])/g;

/** The outline of a log whose last record is complete, and the blobs that it names. Waits for a concurrent write. */
async function settled(path: string): Promise<{ log: LogOutline | Unreadable; undoIds: UndoId[] }> {
  for (let size = -1; ; await system.clock.sleep(50)) {
    const undoIds: UndoId[] = [];
    let line = 1;
    const log = scanLog(path, (_step, body) => {
      line += 1;
      if (!body.includes("undoId")) return;
      for (const [, id = ""] of body.toString("utf8").matchAll(undoId)) undoIds.push({ id, line });
    });
    const now = log.kind === "headless" ? 0 : log.torn + (log.kind === "empty" ? 0 : log.size);
    if (log.kind === "headless" || log.torn === 0 || now === size) return { log, undoIds };
    size = now;
  }
}

/** Sleeping threads that would not be woken in time, and misplaced due entries. */
export function dueProblems(root: Root): Problem[] {
  const remedy = `delete ${dueDir(root)} and run uncaged-workflow wake`;
  const problems = misplacedDue(root).map((path) => ({
    path,
    message: `the entry is in the folder of a wrong hour: ${remedy}`,
  }));
  if (!isDueComplete(root)) return problems;
  const unlisted = (refs: readonly ThreadRef[]): ThreadRef[] => {
    const sleepers = refs.flatMap((ref) => {
      const at = quietWakingTime(root, ref);
      return at === null ? [] : [{ ...ref, at }];
    });
    const entries = Map.groupBy(
      listDue(root, Number.POSITIVE_INFINITY),
      ({ threadId }) => threadId,
    );
    return sleepers.filter((due) => {
      const moments = entries.get(due.threadId)?.map(({ at }) => at) ?? [];
      return !isListedDue(root, due, moments);
    });
  };
  // Check twice: a thread woken meanwhile has lost its entry.
  const lost = unlisted(unlisted(allThreads(root)));
  return problems.concat(
    lost.map((ref) => ({
      path: dataPath(root, ref.hash, ref.threadId),
      message: `the sleeping thread lacks an entry that wakes it in time: ${remedy}`,
    })),
  );
}

/** Moved threads whose note is missing, and a storage root that lost its id after a move. */
export function moveProblems(root: Root): Problem[] {
  const moved = namesIn(movedDir(root)).filter(isThreadId);
  const lost = moved.flatMap((threadId): Problem[] => {
    const ref = threadWithId(root, threadId);
    if (!ref || system.files.exists(locationPath(root, ref.hash, threadId))) return [];
    const message = `missing, although ${movedPath(root, threadId)} shows that the thread has moved`;
    return [{ path: locationPath(root, ref.hash, threadId), message }];
  });
  const path = identityPath(root);
  if (!system.files.exists(path)) {
    const message =
      "missing, although threads have moved: other hosts identify this storage root by its id";
    return moved.length > 0 ? lost.concat({ path, message }) : lost;
  }
  const identity = parsed(readOwnFile(path, 64 * 1024) ?? new Uint8Array());
  const isSound = isRecord(identity) && typeof identity.id === "string";
  return isSound ? lost : lost.concat({ path, message: "missing id of this storage root" });
}

/** Returns the threads whose log is missing although other files exist. */
export async function lostLogs(root: Root): Promise<Problem[]> {
  const lost = () =>
    loggedHashes(root).flatMap((hash) => {
      const names = new Set(namesIn(threadsDir(root, hash)));
      const ids = new Set([...names].map((name) => name.slice(0, 26)).filter(isThreadId));
      return [...ids].flatMap((threadId) =>
        isLost(root, { hash, threadId }, names) ? [dataPath(root, hash, threadId)] : [],
      );
    });
  const before = new Set(lost());
  if (before.size === 0) return [];
  // Check twice: a removal deletes the log first.
  await system.clock.sleep(removalMs);
  const message = "the log is missing, but other files of the thread exist";
  return lost().flatMap((path) => (before.has(path) ? [{ path, message }] : []));
}

const removalMs = 200;

/** Whether a log is lost: files exist that are written after the log. A note alone may belong to an arriving thread. */
function isLost(root: Root, ref: ThreadRef, names: ReadonlySet<string>): boolean {
  const { threadId } = ref;
  if (names.has(`${threadId}.data.jsonl`)) return false;
  const beside = ["journal", "info", "values"].map((kind) => `${threadId}.${kind}.jsonl`);
  if (!beside.some((name) => names.has(name))) return false;
  try {
    // The files of an arriving thread are written before its log.
    return !readLocation(root, ref)?.host;
  } catch {
    return true;
  }
}
