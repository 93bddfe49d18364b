/*
 * Owns: the file `index/threads.sqlite` of a storage root, with a row for each log. Does not own: the state of a
 * thread, which only its log defines.
 *
 * I1 A row is valid while its log has the size and modification time that it had when it was read. Logs without an end,
 *    and all listed logs, are checked each time. Ended logs don't change, and removing a log removes its row. A pause
 *    does not change the log, so it is compared separately.
 * I2 A folder is listed again when its modification time changes. Changes within the resolution of that time are not
 *    trusted.
 * I3 An index file that can't be opened, is broken or has another format is deleted and rebuilt. Without a writable
 *    index, the logs are read.
 */
import { join } from "node:path";
import { readLast } from "../../disk/log.ts";
import { isEnd } from "../../record/record.ts";
import { removeQuietly } from "../../disk/files.ts";
import { isPaused } from "../../disk/paused.ts";
import {
  dataPath,
  journalPath,
  loggedHashes,
  type Root,
  threadIdsOf,
  threadsDir,
} from "../../disk/paths.ts";
import { type Column, type Database, O_CREAT, O_RDWR } from "../../system/port.ts";
import { system } from "../../system/system.ts";
import type { Summed } from "../../record/figures.ts";
import { unknownRow } from "../../record/row.ts";
import type { ThreadRef, ThreadRow } from "../../record/thread.ts";
import type { WorkFigures } from "../../record/work-figures.ts";
import {
  chunk,
  figuresStatement,
  format,
  type IndexQuery,
  pageStatement,
  schema,
  storeStatement,
  versionStatement,
} from "./index-sql.ts";
import { searchText } from "./search.ts";
import { hasWords } from "../../record/search.ts";

/** In milliseconds. A file changed more recently may change again with the same modification time. */
const unclearMs = 1_000;
const atOnceMs = 8;
/** Maximum number of threads to find by words in the index. With more matches, each thread is checked, newest first. */
const mostFew = 2_000;

/** A thread in the index. If it is not over, a worker may report newer facts. */
export type IndexedThread = { row: ThreadRow; isOver: boolean; figures: WorkFigures };

/**
 * An indexed log, with the size and modification time of its file, and the size of its journal; `row` is null if the
 * log does not hold a thread.
 */
export type IndexEntry = ThreadRef & {
  number: number;
  size: number;
  changed: number;
  journal: number;
  isOver: boolean;
  row: ThreadRow | null;
  figures: WorkFigures;
};

type Stored = Omit<IndexEntry, "isOver" | "row" | "figures"> & {
  isOver: number;
  row: string | null;
  figures: string;
};

/** Selects threads that have all words and are older than `before`. */
export type SearchQuery = IndexQuery & { words: readonly string[]; before: string | undefined };

/** Reads a log; null if it does not hold a thread. */
export type ReadIndexed = (ref: ThreadRef) => IndexedThread | null;

/** Limits of a refresh: the maximum number of logs to read, and whether to also read changed open threads. */
export type Refreshing = { most: number; open: boolean };

export class ThreadIndex {
  readonly #root: Root;
  readonly #read: ReadIndexed;
  readonly #path: string;
  #database: Database | null = null;
  #inode: number | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #isBuilding = false;

  constructor(root: Root, read: ReadIndexed) {
    this.#root = root;
    this.#read = read;
    this.#path = join(root, "index", "threads.sqlite");
  }

  get exists(): boolean {
    return system.files.exists(this.#path);
  }

  /** Updates the index from the logs. Returns false when more logs remain, or the index can't be used. */
  refresh(options: Refreshing): Promise<boolean> {
    if (this.#isBuilding && options.most !== Number.POSITIVE_INFINITY)
      return Promise.resolve(false);
    const done = this.#last.then(() => this.#tryTwice(options));
    this.#last = done;
    return done;
  }

  /** Reads all new logs in the background. Lists don't use the index until then. */
  async build(): Promise<void> {
    // An up-to-date index stays in use.
    if (this.#isBuilding || (await this.refresh({ most: 0, open: false }))) return;
    if (this.#isBuilding) return;
    this.#isBuilding = true;
    await this.refresh({ most: Number.POSITIVE_INFINITY, open: true });
    this.#isBuilding = false;
  }

  /** Deletes the row of a removed log: a later log with the same name is another thread. */
  forget(ref: ThreadRef): Promise<void> {
    const done = this.#last.then(async () => {
      try {
        if (this.exists && (await this.#open())) this.#database?.atOnce(() => this.#remove(ref));
      } catch (error) {
        this.#drop(isUnsound(error));
      }
    });
    this.#last = done;
    return done;
  }

  /** Counts the logs of the given versions, or all logs. */
  count(hashes: readonly string[] | null): number {
    const where = hashes ? `WHERE hash IN (${marks(hashes)})` : "";
    const [row] = this.#rows<{ n: number | null }>(
      `SELECT sum(logs) AS n FROM folders ${where}`,
      hashes ?? [],
    );
    return row?.n ?? 0;
  }

  /** The threads that may match, newest first. */
  *candidates(query: SearchQuery): Generator<IndexEntry> {
    const { words, before = "~" } = query;
    const few = words.length > 0 ? this.#few(words) : null;
    for (const entry of few ?? this.#newest(query)) {
      if (entry.threadId < before && this.#hasWords(entry, words)) yield entry;
    }
  }

  *#newest({ before = "~", ...query }: SearchQuery): Generator<IndexEntry> {
    let key = [before, ""];
    for (;;) {
      const { text, values } = pageStatement(query, key);
      const found = this.#entries(text, values);
      yield* found;
      const last = found.at(-1);
      if (!last || found.length < chunk) return;
      key = [last.threadId, last.hash];
    }
  }

  /** The figures of the selected threads that are over. */
  figures(query: IndexQuery): Summed[] {
    const { text, values } = figuresStatement(query);
    return this.#rows<Summed>(text, values);
  }

  /** The threads of a version, in pages. */
  *version(hash: string): Generator<IndexEntry[]> {
    for (let after = ""; ; ) {
      const found = this.#entries(versionStatement, [hash, after]);
      yield found;
      const last = found.at(-1);
      if (!last) return;
      after = last.threadId;
    }
  }

  /** The threads that are not over, newest first. */
  open(): IndexEntry[] {
    return this.#entries("SELECT * FROM threads WHERE isOver = 0 ORDER BY threadId DESC", []);
  }

  /** Whether a log is unchanged since it was read. */
  isFresh({ threadId, hash, size, changed, journal, isOver, row }: IndexEntry): boolean {
    const stat = system.files.stat(dataPath(this.#root, hash, threadId));
    if (stat?.size !== size || stat.mtimeMs !== changed) return false;
    if (isOver) return true;
    const isSame = this.#journalSize({ hash, threadId }) === journal;
    return isSame && isPaused(this.#root, { hash, threadId }) === (row?.status === "paused");
  }

  close(): void {
    this.#database?.close();
    this.#database = null;
  }

  /** The threads with all words, newest first; null if there are too many. */
  #few(words: readonly string[]): IndexEntry[] | null {
    const patterns = words.map((word) => `%${word.replace(/[%_]/g, "_")}%`);
    const like = patterns.map(() => "text LIKE ?").join(" AND ");
    const found = this.#rows<{ rowid: number }>(
      `SELECT rowid FROM texts WHERE ${like} LIMIT ${mostFew + 1}`,
      patterns,
    );
    if (found.length > mostFew) return null;
    const numbers = JSON.stringify(found.map(({ rowid }) => rowid));
    return this.#entries(
      `SELECT * FROM threads WHERE number IN (SELECT value FROM json_each(?))
        ORDER BY threadId DESC, hash DESC`,
      [numbers],
    );
  }

  #hasWords({ number }: IndexEntry, words: readonly string[]): boolean {
    if (words.length === 0) return true;
    const [row] = this.#rows<{ text: string }>("SELECT text FROM texts WHERE rowid = ?", [number]);
    return hasWords(row?.text ?? "", words);
  }

  #entries(statement: string, values: readonly Column[]): IndexEntry[] {
    return this.#rows<Stored>(statement, values).map(({ isOver, row, figures, ...entry }) => ({
      ...entry,
      isOver: isOver === 1,
      row: row === null ? null : (JSON.parse(row) as ThreadRow),
      figures: JSON.parse(figures) as WorkFigures,
    }));
  }

  #journalSize({ hash, threadId }: ThreadRef): number {
    return system.files.stat(journalPath(this.#root, hash, threadId))?.size ?? 0;
  }

  #rows<Row>(statement: string, values: readonly Column[] = []): Row[] {
    return [...(this.#database?.rows<Row>(statement, ...values) ?? [])];
  }

  async #tryTwice(options: Refreshing): Promise<boolean> {
    for (const isLast of [false, true]) {
      try {
        if (!(await this.#open())) return false;
        return await this.#refresh(options);
      } catch (error) {
        this.#drop(isUnsound(error));
        if (isLast || !isUnsound(error)) return false;
      }
    }
    return false;
  }

  async #open(): Promise<boolean> {
    const inode = () => system.files.stat(this.#path)?.ino;
    if (this.#database && inode() === this.#inode) return true;
    this.close();
    if (!system.files.exists(this.#root)) return false;
    system.files.makeFolder(join(this.#root, "index"));
    // Create the file here with a mode that lets only its owner read it.
    system.files.close(system.files.open(this.#path, O_CREAT | O_RDWR));
    this.#database = await system.openDatabase(this.#path);
    const [found] = this.#rows<{ user_version: number }>("PRAGMA user_version");
    if (found && found.user_version !== format) {
      const [made] = this.#rows("SELECT 1 FROM sqlite_master");
      if (made) this.#drop(true);
      this.#database ??= await system.openDatabase(this.#path);
      this.#database?.run(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;`);
      this.#database?.atOnce(() => this.#database?.run(schema));
    }
    this.#inode = inode();
    return this.#database !== null;
  }

  #drop(isRemoved: boolean): void {
    try {
      this.close();
    } catch {
      // Closing a broken database may fail too.
    }
    this.#database = null;
    if (!isRemoved) return;
    for (const ending of ["", "-wal", "-shm"]) removeQuietly(`${this.#path}${ending}`);
  }

  async #refresh({ most, open: withOpen }: Refreshing): Promise<boolean> {
    const folders = this.#changedFolders();
    const found = folders.map((folder) => this.#differences(folder));
    const open = this.#changedOpen(withOpen);
    const toRead = [...found.flatMap(({ added }) => added), ...open];
    if (toRead.length > most) return false;
    await this.#readAll(toRead);
    this.#database?.atOnce(() => {
      for (const { hash, changed, logs, gone } of found) {
        for (const threadId of gone) this.#remove({ hash, threadId });
        this.#rows("INSERT OR REPLACE INTO folders VALUES (?, ?, ?)", [hash, changed, logs]);
        if (logs === 0) this.#rows("DELETE FROM folders WHERE hash = ?", [hash]);
      }
    });
    return true;
  }

  #changedFolders(): { hash: string; changed: number }[] {
    const all = this.#rows<{ hash: string; changed: number }>("SELECT hash, changed FROM folders");
    const known = new Map(all.map(({ hash, changed }) => [hash, changed]));
    const hashes = new Set([...loggedHashes(this.#root), ...known.keys()]);
    return [...hashes].flatMap((hash) => {
      const changed = system.files.stat(threadsDir(this.#root, hash))?.mtimeMs ?? never;
      if (changed !== never && known.get(hash) === changed) return [];
      return { hash, changed: system.clock.now() - changed < unclearMs ? never : changed };
    });
  }

  #differences({ hash, changed }: { hash: string; changed: number }) {
    const ids = new Set(threadIdsOf(this.#root, hash));
    const stored = this.#rows<{ threadId: string }>("SELECT threadId FROM threads WHERE hash = ?", [
      hash,
    ]);
    const known = new Set(stored.map(({ threadId }) => threadId));
    const added = [...ids.difference(known)].map((threadId) => ({ hash, threadId }));
    return { hash, changed, logs: ids.size, added, gone: [...known.difference(ids)] };
  }

  /** The threads that are not over and whose logs changed; without `withOpen`, only threads that have ended since. */
  #changedOpen(withOpen: boolean): ThreadRef[] {
    const changed = this.open().filter((entry) => !this.isFresh(entry));
    return withOpen
      ? changed
      : changed.filter((row) => hasEnded(dataPath(this.#root, row.hash, row.threadId)));
  }

  async #readAll(refs: readonly ThreadRef[]): Promise<void> {
    for (let next = 0; next < refs.length; ) {
      const restAt = system.clock.elapsed() + atOnceMs;
      const last = next;
      this.#database?.atOnce(() => {
        do this.#store(refs[next] as ThreadRef);
        while ((next += 1) < refs.length && next < last + chunk && system.clock.elapsed() < restAt);
      });
      // Lets other requests run in between.
      await system.clock.turn();
    }
  }

  #store(ref: ThreadRef): void {
    // Stat before reading: a concurrent append changes the size.
    const stat = system.files.stat(dataPath(this.#root, ref.hash, ref.threadId));
    if (stat === null) return this.#remove(ref);
    const journal = this.#journalSize(ref);
    const found = this.#read(ref);
    const { isOver, row, figures } = found ?? noThread;
    const { status, workflow, createdAt, workedMs, spent, hasError } = row ?? unknownRow(ref);
    const [stored] = this.#rows<{ number: number }>(storeStatement, [
      ...[ref.threadId, ref.hash, stat.size, stat.mtimeMs, journal, Number(isOver)],
      ...[status, workflow, createdAt, workedMs, spent.cost, Number(hasError)],
      ...[row && JSON.stringify(row), JSON.stringify(figures)],
    ]);
    const text = searchText(this.#root, ref);
    this.#rows("DELETE FROM texts WHERE rowid = ?", [stored?.number ?? 0]);
    this.#rows("INSERT INTO texts (rowid, text) VALUES (?, ?)", [stored?.number ?? 0, text]);
  }

  #remove({ hash, threadId }: ThreadRef): void {
    const of = "threadId = ? AND hash = ?";
    this.#rows(`DELETE FROM texts WHERE rowid IN (SELECT number FROM threads WHERE ${of})`, [
      ...[threadId, hash],
    ]);
    this.#rows(`DELETE FROM threads WHERE ${of}`, [threadId, hash]);
  }
}

const noThread = { isOver: false, row: null, figures: { roles: [], models: [] } };

/** A modification time that files never have. */
const never = -1;

const marks = (values: readonly unknown[]): string => values.map(() => "?").join(", ");

const unsound = new Set([
  "SQLITE_CORRUPT",
  "SQLITE_CORRUPT_VTAB",
  "SQLITE_NOTADB",
  "SQLITE_ERROR",
  "SQLITE_SCHEMA",
]);

const isUnsound = (error: unknown): boolean =>
  error instanceof Error && "code" in error && unsound.has(String(error.code));

function hasEnded(path: string): boolean {
  try {
    const found = readLast(path);
    return found.kind !== "record" || (found.record !== null && isEnd(found.record));
  } catch {
    return true;
  }
}
