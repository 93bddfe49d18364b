import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import {
  diskError,
  type Lock,
  makeFolder,
  show,
  takeLock,
  writeFileAtomic,
} from "@uncaged/workflow/internal";
import type { CaseRun, VersionRuns } from "./compare.ts";
import type { EvalCase } from "./dataset.ts";
import { evalDamaged, evalRunning } from "./errors.ts";

/*
 * The record of an eval, in the folder `evals/<id>` of a storage root:
 *
 *     eval.json       the data set's cases and the scorer; the id is a hash of their contents
 *     <hash>.jsonl    the runs on one version: a line before the start of each thread, and a line with its result
 *     lock            held by the process that runs the eval
 */

/** The inputs of an eval. Stores fixtures as the ids of their threads. */
export type EvalHead = {
  version: 1;
  id: string;
  createdAt: number;
  /** The cluster with the threads; absent if the threads are in the storage root. */
  cluster?: string;
  dataset: { file: string; hash: string };
  scorer: { file: string; hash: string };
  cases: (Omit<EvalCase, "fixture"> & { fixture?: string })[];
};

/** A recorded eval. `started` counts the started runs without a result. */
export type EvalView = EvalHead & { versions: (VersionRuns & { started: number })[] };

/** A line of the file of one version. */
type Line =
  | { kind: "version"; hash: string; workflow: string; at: number }
  | { kind: "started"; case: string; n: number; threadId: string; at: number }
  | ({ kind: "result" } & CaseRun);

type Started = Extract<Line, { kind: "started" }>;

const newline = 10;
const isId = (name: string): boolean => /^[0-9A-HJKMNP-TV-Z]{13}$/.test(name);
const folderOf = (root: string, id: string): string => join(root, "evals", id);
const keyOf = (one: { case: string; n: number }): string => `${one.n} ${one.case}`;

/** A storage root with recorded evals. With `cluster`, only the evals whose threads are on that cluster. */
export type EvalPlace = { root: string; cluster?: string };

/** Returns the evals whose threads are on a host, newest first. Skips incomplete records. */
export function listEvals(place: EvalPlace): EvalView[] {
  const folder = join(place.root, "evals");
  const ids = existsSync(folder) ? readdirSync(folder).filter(isId) : [];
  const views = ids.flatMap((id) => readEval(place, id) ?? []);
  return views.toSorted((a, b) => b.createdAt - a.createdAt);
}

/**
 * Returns an eval; null if the eval is missing or its threads are on another host.
 * @throws WorkflowError `EVAL_DAMAGED`, and errors of the disk.
 */
export function readEval({ root, cluster }: EvalPlace, id: string): EvalView | null {
  const folder = folderOf(root, id);
  const path = join(folder, "eval.json");
  if (!isId(id) || !existsSync(path)) return null;
  const head = headAt(path);
  if (head.cluster !== cluster) return null;
  const names = readdirSync(folder).filter((name) => /^[0-9A-Z]{13}\.jsonl$/.test(name));
  const found = names
    .map((name) => versionAt(join(folder, name)))
    .filter((version) => version !== null)
    .toSorted((a, b) => a.at - b.at)
    .map(({ hash, workflow, results, started }) => {
      return { hash, workflow, runs: [...results.values()], started: started.size };
    });
  return { ...head, versions: found };
}

type VersionFile = {
  hash: string;
  workflow: string;
  at: number;
  results: Map<string, CaseRun>;
  /** Runs without a result. */
  started: Map<string, Started>;
  /** The length of the complete lines in bytes, and their number. */
  end: number;
  lines: number;
};

/*
 * Caches of recently read files, for pages that poll a running eval. A poll reads only the appended lines of a
 * version's file. The head never changes.
 */
const heads = new Map<string, { file: string; head: EvalHead }>();
const versions = new Map<string, { ino: number; version: VersionFile; mark: string }>();
const mostRemembered = 16;

function remember<T>(known: Map<string, T>, path: string, value: T): void {
  known.delete(path);
  known.set(path, value);
  const [oldest] = known.keys();
  if (known.size > mostRemembered && oldest !== undefined) known.delete(oldest);
}

function headAt(path: string): EvalHead {
  const { ino, size, mtimeMs } = statSync(path);
  const file = `${ino} ${size} ${mtimeMs}`;
  const known = heads.get(path);
  const head =
    known?.file === file ? known.head : (parsed(path, 1, readFileSync(path, "utf8")) as EvalHead);
  remember(heads, path, { file, head });
  return head;
}

function versionAt(path: string): VersionFile | null {
  const { ino, size } = statSync(path);
  const known = versions.get(path);
  // Read a replaced or truncated file from its beginning.
  const isSame =
    known?.ino === ino && size >= known.version.end && markAt(path, known.version) === known.mark;
  const version = readVersion(path, isSame ? known.version : undefined);
  if (version) remember(versions, path, { ino, version, mark: markAt(path, version) });
  return version;
}

const longestMark = 256;

/** Returns the last bytes that were read from a file. If they differ later, the file was rewritten. */
function markAt(path: string, { end }: VersionFile): string {
  const start = Math.max(0, end - longestMark);
  return bytesFrom(path, start, end - start).toString("latin1");
}

/** Returns at most `most` bytes of a file, starting at a position. */
function bytesFrom(path: string, position: number, most = Number.POSITIVE_INFINITY): Buffer {
  const fd = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(Math.min(most, Math.max(0, fstatSync(fd).size - position)));
    let length = 0;
    for (let n = 1; n > 0 && length < bytes.length; length += n) {
      n = readSync(fd, bytes, length, bytes.length - length, position + length);
    }
    return bytes.subarray(0, length);
  } finally {
    closeSync(fd);
  }
}

/** Reads a version's file; with `before`, only the later lines. */
function readVersion(path: string, before?: VersionFile): VersionFile | null {
  if (!existsSync(path)) return null;
  const bytes = bytesFrom(path, before?.end ?? 0);
  // A crash of the writing process may have left an incomplete last line.
  const whole = bytes.lastIndexOf(newline) + 1;
  const lines = bytes.subarray(0, whole).toString("utf8").split("\n").slice(0, -1);
  let head: Pick<VersionFile, "hash" | "workflow" | "at"> | null = before ?? null;
  const results = before?.results ?? new Map<string, CaseRun>();
  const started = before?.started ?? new Map<string, Started>();
  for (const [index, text] of lines.entries()) {
    const line = parsed(path, (before?.lines ?? 0) + index + 1, text) as Line;
    if (line.kind === "version") head = line;
    else if (line.kind === "started") {
      started.set(keyOf(line), line);
      results.delete(keyOf(line));
    } else if (line.kind === "result") {
      const { kind: _, ...run } = line;
      results.set(keyOf(run), run);
      started.delete(keyOf(run));
    }
  }
  if (!head) return null;
  const { hash, workflow, at } = head;
  const read = { end: (before?.end ?? 0) + whole, lines: (before?.lines ?? 0) + lines.length };
  return { hash, workflow, at, results, started, ...read };
}

function parsed(path: string, line: number, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw evalDamaged(path, line, cause);
  }
}

/** The record of an eval that this process runs. A lock prevents concurrent runs. */
export class EvalRecord {
  readonly head: EvalHead;
  readonly #folder: string;
  readonly #lock: Lock;
  readonly #versions = new Map<string, VersionFile & { fd: number }>();

  private constructor(folder: string, head: EvalHead, lock: Lock) {
    this.#folder = folder;
    this.head = head;
    this.#lock = lock;
  }

  /** Opens or creates the record. @throws WorkflowError `EVAL_RUNNING`, `EVAL_DAMAGED`, and errors of the disk. */
  static open(root: string, head: EvalHead): EvalRecord {
    const folder = folderOf(root, head.id);
    makeFolder(folder);
    const lock = takeLock(join(folder, "lock"), 0);
    if (!lock) throw evalRunning(head.id);
    try {
      const path = join(folder, "eval.json");
      const known = existsSync(path)
        ? (parsed(path, 1, readFileSync(path, "utf8")) as EvalHead)
        : null;
      if (!known) writeFileAtomic(path, `${JSON.stringify(head)}\n`);
      return new EvalRecord(folder, known ?? head, lock);
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  /** Opens a version's file to append its runs. */
  openVersion({ hash, workflow }: Pick<VersionRuns, "hash" | "workflow">): void {
    const path = join(this.#folder, `${hash}.jsonl`);
    const known = readVersion(path);
    try {
      const fd = openSync(path, "a", 0o600);
      ftruncateSync(fd, known?.end ?? 0);
      // Keeps the versions in the order of their starts, even within a millisecond.
      const at = Math.max(Date.now(), ...[...this.#versions.values()].map((one) => one.at + 1));
      const none = { hash, workflow, at, results: new Map(), started: new Map(), end: 0, lines: 0 };
      this.#versions.set(hash, { ...(known ?? none), fd });
      if (!known) this.#append(hash, { kind: "version", hash, workflow, at });
    } catch (error) {
      throw diskError(error, "write", path);
    }
  }

  /** Returns the result of a case's run; null without a result. */
  result(hash: string, one: { case: string; n: number }): CaseRun | null {
    return this.#of(hash).results.get(keyOf(one)) ?? null;
  }

  /** Returns the thread of a started run without a result. */
  thread(hash: string, one: { case: string; n: number }): string | null {
    return this.#of(hash).started.get(keyOf(one))?.threadId ?? null;
  }

  /** Records the thread of a run, durably, before the thread starts. */
  start(hash: string, one: { case: string; n: number; threadId: string }): void {
    const line: Started = { kind: "started", ...one, at: Date.now() };
    this.#append(hash, line);
    this.#of(hash).started.set(keyOf(one), line);
    this.#of(hash).results.delete(keyOf(one));
  }

  finish(hash: string, run: CaseRun): void {
    this.#append(hash, { kind: "result", ...run });
    this.#of(hash).results.set(keyOf(run), run);
    this.#of(hash).started.delete(keyOf(run));
  }

  /** Returns the selected runs of a version. */
  runs(hash: string, isMeant: (run: CaseRun) => boolean): VersionRuns {
    const { workflow, results } = this.#of(hash);
    return { hash, workflow, runs: [...results.values()].filter(isMeant) };
  }

  close(): void {
    for (const { fd } of this.#versions.values()) closeSync(fd);
    this.#lock.release();
  }

  #of(hash: string): VersionFile & { fd: number } {
    const version = this.#versions.get(hash);
    if (version) return version;
    throw new Error(`the version ${show(hash)} was not opened`);
  }

  #append(hash: string, line: Line): void {
    const { fd } = this.#of(hash);
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
    try {
      for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
      fsyncSync(fd);
    } catch (error) {
      throw diskError(error, "write", join(this.#folder, `${hash}.jsonl`));
    }
  }
}
