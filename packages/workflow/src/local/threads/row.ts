import { LineFile } from "../../disk/line-file.ts";
import { type LogOutline, scanLog, type Unreadable } from "../../disk/log.ts";
import { systemCode } from "../../disk/disk-error.ts";
import { dataPath, journalPath, type Root } from "../../disk/paths.ts";
import { notedOf } from "../../disk/threads.ts";
import type { Step } from "../../contract/contract.ts";
import { journalState } from "../../record/journal.ts";
import { type EndRecord, isEnd } from "../../record/record.ts";
import { rowAt, rowFrom, unknownRow } from "../../record/row.ts";
import { statusOf, type ThreadRef, type ThreadRow } from "../../record/thread.ts";
import type { ThreadWork } from "../../record/work-figures.ts";
import { WorkFold } from "../../record/work.ts";
import { system } from "../../system/system.ts";
import { type Drivers, LiveWorkers } from "../workers/live.ts";
import type { IndexedThread } from "./thread-index.ts";
import { readDriven } from "./view.ts";

type Worked = LogOutline & { fold: WorkFold };

/** Reads a log's outline, with the fold of its steps. */
function outlineWork(path: string): Worked | Unreadable {
  const fold = new WorkFold();
  const log = scanLog(path, (step, _, start) => fold.step(step, start));
  return log.kind === "thread" ? { ...log, fold } : log;
}

function workOf(root: Root, ref: ThreadRef, { fold, end }: Worked, isRunning: boolean): ThreadWork {
  const journal = journalState(new LineFile(journalPath(root, ref.hash, ref.threadId)));
  return fold.of(journal, { end, isRunning });
}

/** The log of a driven thread with its work, and the state of its files before the read. */
type Driven = LogOutline & { work: ThreadWork; files: string };

/**
 * Driven threads by the paths of their logs, newest last. Lists, summaries and changes need them several times a
 * second, and reading a long log is slow.
 */
const driven = new Map<string, Driven>();
const mostDriven = 20;

function keepDriven(path: string, log: Driven): void {
  driven.delete(path);
  driven.set(path, log);
  const [oldest] = driven.keys();
  if (driven.size > mostDriven && oldest !== undefined) driven.delete(oldest);
}

/** Returns a text that changes when the log or the journal of a thread is written. */
function filesOf(root: Root, { hash, threadId }: ThreadRef): string {
  const paths = [dataPath(root, hash, threadId), journalPath(root, hash, threadId)];
  const stats = paths.map((path) => system.files.stat(path));
  return stats.map((stat) => `${stat?.ino} ${stat?.size} ${stat?.mtimeMs}`).join();
}

/** The row of a thread, or null when it never started or was removed. */
export async function readRow(
  root: Root,
  ref: ThreadRef,
  live: Drivers = new LiveWorkers(root),
): Promise<ThreadRow | null> {
  const { threadId, hash } = ref;
  const path = dataPath(root, hash, threadId);
  let files = "";
  const read = () => {
    files = filesOf(root, ref);
    const kept = driven.get(path);
    return kept?.files === files ? kept : outlineWork(path);
  };
  try {
    const { log, driver } = await readDriven(root, ref, read, live);
    if (log.kind === "empty") return null;
    if (log.kind === "thread") {
      if ("work" in log && !driver) {
        // The open attempts of a thread without a worker are lost.
        driven.delete(path);
        return await readRow(root, ref, live);
      }
      const { movedTo: away, paused } = notedOf(root, ref);
      const state = statusOf(log, driver, { movedTo: away, paused });
      const work = "work" in log ? log.work : workOf(root, ref, log, driver !== null);
      if (driver && "fold" in log) {
        const { fold: _, ...outline } = log;
        keepDriven(path, { ...outline, work, files });
      }
      const row = rowFrom({ threadId, hash }, { ...log, work }, state, { away, driver });
      return rowAt(row, system.clock.now());
    }
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
  }
  return unknownRow(ref);
}

/**
 * Reads a thread for the index, without the state of a worker that may drive it. `more` has records that follow its
 * log; the times do not include them.
 */
export function readIndexed(
  root: Root,
  ref: ThreadRef,
  more: readonly (Step | EndRecord)[] = [],
): IndexedThread | null {
  const unknown = { row: unknownRow(ref), isOver: false, figures: { roles: [], models: [] } };
  try {
    const log = outlineWork(dataPath(root, ref.hash, ref.threadId));
    if (log.kind === "empty") return null;
    if (log.kind === "headless") return unknown;
    for (const record of more) {
      if (isEnd(record)) log.end = record;
      else log.fold.step((log.last = record), log.start);
    }
    const noted = notedOf(root, ref);
    const state = statusOf(log, null, noted);
    const work = workOf(root, ref, log, false);
    const { roles, models } = work;
    return {
      row: rowFrom(ref, { ...log, work }, state, { away: noted.movedTo }),
      isOver: log.end !== null && state.status !== "corrupt",
      figures: { roles, models },
    };
  } catch {
    return unknown;
  }
}
