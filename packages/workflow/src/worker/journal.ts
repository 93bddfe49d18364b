import type { EventPayloads } from "../contract/event.ts";
import type { Journal } from "../contract/journal.ts";
import type { Mask } from "../contract/mask.ts";
import { outlineLog } from "../disk/log.ts";
import type { JournalCounts, StartRecord } from "../record/record.ts";
import { syncFileLater } from "../disk/files.ts";
import { dataPath, infoPath, type Root, valuesPath } from "../disk/paths.ts";
import { system } from "../system/system.ts";
import { threadWithId } from "../disk/threads.ts";
import type { ThreadRef } from "../record/thread.ts";
import { JournalEntries, type JournalFiles, stepOf } from "./journal-entries.ts";

/** Where the journal of a thread lies, and how what was written there is made durable. */
export type JournalPlace = {
  root: Root;
  start: StartRecord;
  /** Has the files of another thread in the root; null when there is none. */
  find: (threadId: string) => Promise<ThreadRef | null>;
  /** False when what was written could not be made durable. */
  settle: () => Promise<boolean>;
};

/** The journal of a thread of a storage root; with `isSynced` an entry survives a loss of power. */
export function journalIn(root: Root, start: StartRecord, isSynced: boolean): JournalPlace {
  const { values, info } = journalFiles(root, start);
  // Most entries bring no value along: the file is synced when it has grown.
  let syncedValues = 0;
  return {
    root,
    start,
    find: async (threadId) => threadWithId(root, threadId),
    async settle() {
      if (!isSynced) return true;
      try {
        const { size = 0 } = system.files.stat(values) ?? {};
        if (size !== syncedValues) await syncFileLater(values);
        syncedValues = size;
        await syncFileLater(info);
        return true;
      } catch {
        return false;
      }
    },
  };
}

export const journalFiles = (root: Root, { hash, threadId }: ThreadRef): JournalFiles => ({
  threadId,
  data: dataPath(root, hash, threadId),
  info: infoPath(root, hash, threadId),
  values: valuesPath(root, hash, threadId),
});

/**
 * The threads whose entries count, the oldest first: the thread itself, and what it is a fork of, where it goes on from
 * where that has stopped. One that leaves steps out, or of which more was committed since, does its steps anew.
 */
async function lineOf({ root, start, find }: JournalPlace): Promise<ThreadRef[]> {
  const line: ThreadRef[] = [start];
  const seen = new Set<string>();
  for (let from = start.forkFrom; from && !seen.has(from.threadId); ) {
    seen.add(from.threadId);
    const source = await find(from.threadId);
    if (!source) break;
    const log = outlineLog(dataPath(root, source.hash, source.threadId));
    if (log.kind !== "thread" || log.steps !== from.steps) break;
    line.unshift(source);
    from = log.start.forkFrom;
  }
  return line;
}

/** What a journal needs of the thread that is driven. */
export type JournalParts = {
  place: JournalPlace;
  mask: Mask;
  /** Writes an event of the running attempt to the thread's debug log; false when it can't be written in full. */
  write: (payload: EventPayloads["journal"]) => boolean;
  /** Whether an attempt is one of those that run. */
  isOpen: (attempt: string) => boolean;
  /** The outermost attempt of the running code. */
  attempt: () => string | null;
};

/** The journal of a driven thread, and how much the steps in progress have recorded there: by it losses are found. */
export type ThreadJournal = {
  journal: Journal;
  counts(): JournalCounts | null;
  /** An attempt was committed, or came to nothing: what its step has recorded is not needed any more. */
  over(attempt: string): void;
};

/** How many entries of a step are on the disk, and the attempts that have to do with them. */
type Progress = { count: number; attempts: Set<string> };

/** What a thread's roles record, as events of its debug log. It is read when a role first asks for it. */
export function openJournal(parts: JournalParts): ThreadJournal {
  const { place, mask, write, isOpen, attempt } = parts;
  const own = new JournalEntries(journalFiles(place.root, place.start));
  let sources: Promise<JournalEntries[]> | null = null;
  const inProgress = new Map<string, Progress>();
  const progressOf = (step: string): Progress => {
    const known = inProgress.get(step) ?? {
      count: own.count(step),
      attempts: new Set<string>(),
    };
    inProgress.set(step, known);
    const id = attempt();
    if (id !== null) known.attempts.add(id);
    return known;
  };
  return {
    journal: {
      async read(key) {
        sources ??= lineOf(place).then((line) =>
          line.slice(0, -1).map((ref) => new JournalEntries(journalFiles(place.root, ref))),
        );
        const found = [...(await sources), own].flatMap((entries) => entries.of(key, isOpen));
        progressOf(stepOf(key));
        return found;
      },
      async record(key, entry) {
        // One whose name is masked can't be found again.
        if (mask(key) !== key) return write({ key, entry }) && (await place.settle());
        const progress = progressOf(stepOf(key));
        if (!write({ key, entry, after: progress.count }) || !(await place.settle())) return false;
        progress.count += 1;
        return true;
      },
    },
    counts() {
      const known = [...inProgress].flatMap(([step, { count }]) =>
        count > 0 && mask(step) === step ? [[step, count] as const] : [],
      );
      return known.length > 0 ? Object.fromEntries(known) : null;
    },
    over(id) {
      for (const [step, { attempts }] of inProgress) {
        if (attempts.has(id)) inProgress.delete(step);
      }
    },
  };
}
