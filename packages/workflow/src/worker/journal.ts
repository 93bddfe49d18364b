import type { StartRecord } from "../log/record.ts";
import { readEvent } from "../contract/event.ts";
import type { Journal, JournalEntry } from "../contract/journal.ts";
import { OwnMap, OwnSet } from "../contract/own-collections.ts";
import { isRecord } from "../contract/show.ts";
import { LineFile } from "../log/line-file.ts";
import { outlineLog } from "../log/log.ts";
import { valueAt } from "../log/values.ts";
import { syncFileLater } from "../storage/files.ts";
import { dataPath, infoPath, type Root, valuesPath } from "../storage/paths.ts";
import { system } from "../system/system.ts";
import { threadWithId } from "../thread/selection.ts";
import type { ThreadRef } from "../thread/thread.ts";

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

/** The debug log of a thread and its values. */
type JournalFiles = { info: string; values: string };

const journalFiles = (root: Root, { hash, threadId }: ThreadRef): JournalFiles => ({
  info: infoPath(root, hash, threadId),
  values: valuesPath(root, hash, threadId),
});

/**
 * The threads whose entries count, the oldest first: the thread itself, and what it is a fork of, where it goes on from
 * where that has stopped. One that leaves steps out, or of which more was committed since, does its steps anew.
 */
async function lineOf({ root, start, find }: JournalPlace): Promise<ThreadRef[]> {
  const line: ThreadRef[] = [start];
  const seen = new OwnSet<string>();
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
  /** Writes an event of the running attempt to the thread's debug log; false when it can't be written in full. */
  write: (payload: { key: string; entry: unknown }) => boolean;
  /** Whether an attempt is one of those that run. */
  isOpen: (attempt: string) => boolean;
};

/** What a thread's roles record, as events of its debug log. It is read when a role first asks for it. */
export function openJournal({ place, write, isOpen }: JournalParts): Journal {
  let logs: Promise<RecordedEntries[]> | null = null;
  return {
    async read(key) {
      logs ??= lineOf(place).then((line) =>
        line.map((ref) => new RecordedEntries(journalFiles(place.root, ref))),
      );
      return (await logs).flatMap((log) => log.of(key, isOpen));
    },
    record: async (key, entry) => write({ key, entry }) && (await place.settle()),
  };
}

type Entry = { start: number; attempt: string | null };

const holding = ['"type":"journal"', '"type":"attempt_end"', '"parent":"'];

/** The entries of one debug log. It keeps where they are; each look goes on where the last one has ended. */
class RecordedEntries {
  readonly #files: JournalFiles;
  readonly #byKey = new OwnMap<string, Entry[]>();
  readonly #parents = new OwnMap<string, string>();
  readonly #failed = new OwnSet<string>();
  #position = 0;

  constructor(files: JournalFiles) {
    this.#files = files;
  }

  /** Those of a key but for those of attempts that are `open`, or within one that is. */
  of(key: string, isOpen: (attempt: string) => boolean): JournalEntry[] {
    this.#scan();
    return (this.#byKey.get(key) ?? []).flatMap(({ start, attempt }) => {
      const chain = this.#chainOf(attempt);
      if (chain.some(isOpen)) return [];
      const entry = this.#entryAt(start);
      return entry === undefined
        ? []
        : [{ entry, failed: chain.some((id) => this.#failed.has(id)) }];
    });
  }

  #scan(): void {
    for (const { value, start, position } of new LineFile(this.#files.info).forward(
      this.#position,
      holding,
    )) {
      this.#position = position;
      const event = value === undefined ? null : readEvent(value);
      if (!event) continue;
      const { type, attempt = null, payload } = event;
      if (type === "attempt_start" && attempt && typeof payload.parent === "string") {
        this.#parents.set(attempt, payload.parent);
      } else if (type === "attempt_end" && attempt && payload.outcome === "failed") {
        this.#failed.add(attempt);
      } else if (type === "journal" && typeof payload.key === "string") {
        const entries = this.#byKey.get(payload.key) ?? [];
        this.#byKey.set(payload.key, entries);
        entries.push({ start, attempt });
      }
    }
  }

  /** An attempt and those that it is within. */
  #chainOf(attempt: string | null): string[] {
    const chain: string[] = [];
    for (let id = attempt ?? undefined; id !== undefined && !chain.includes(id); ) {
      chain.push(id);
      id = this.#parents.get(id);
    }
    return chain;
  }

  /** Undefined where the whole of it can't be read any more. */
  #entryAt(start: number): unknown {
    const [line] = new LineFile(this.#files.info).forward(start);
    const entry = readEvent(line?.value)?.payload.entry;
    if (!isRecord(entry) || entry._truncated !== true) return entry;
    const json = typeof entry.at === "number" ? valueAt(this.#files.values, entry.at) : null;
    return json === null ? undefined : (JSON.parse(json) as unknown);
  }
}
