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
import { WorkflowError } from "@uncaged/workflow/host";
import type { CaseRun, VersionRuns } from "./compare.ts";
import type { EvalCase } from "./dataset.ts";

/*
 * The record of an eval, in the folder `evals/<id>` of a storage root:
 *
 *     eval.json       what is evaluated: the data set's cases and the scorer, by whose contents the id is computed
 *     <hash>.jsonl    what was run on one version: a line before each thread is started, and one with its result
 *     lock            held by whoever runs it
 */

/** What an eval is of. Of a fixture the id of its thread alone is kept. */
export type EvalHead = {
  version: 1;
  id: string;
  createdAt: number;
  /** The cluster that its threads are on; absent when they are in the storage root. */
  cluster?: string;
  dataset: { file: string; hash: string };
  scorer: { file: string; hash: string };
  cases: (Omit<EvalCase, "fixture"> & { fixture?: string })[];
};

/** An eval as its record has it. `started` counts the runs that were started and have no result yet. */
export type EvalView = EvalHead & { versions: (VersionRuns & { started: number })[] };

/** A line of a version's file. */
type Line =
  | { kind: "version"; hash: string; workflow: string; at: number }
  | { kind: "started"; case: string; n: number; threadId: string; at: number }
  | ({ kind: "result" } & CaseRun);

type Started = Extract<Line, { kind: "started" }>;

const newline = 10;
const isId = (name: string): boolean => /^[0-9A-HJKMNP-TV-Z]{13}$/.test(name);
const folderOf = (root: string, id: string): string => join(root, "evals", id);
const keyOf = (one: { case: string; n: number }): string => `${one.n} ${one.case}`;

/** Where evals are recorded: a storage root, also of those whose threads are on a cluster. */
export type EvalPlace = { root: string; cluster?: string };

/** The evals with threads on a host, the newest first. What was not recorded wholly is none. */
export function listEvals(place: EvalPlace): EvalView[] {
  const folder = join(place.root, "evals");
  const ids = existsSync(folder) ? readdirSync(folder).filter(isId) : [];
  const views = ids.flatMap((id) => readEval(place, id) ?? []);
  return views.toSorted((a, b) => b.createdAt - a.createdAt);
}

/** An eval; null when there is none of this id. @throws WorkflowError `EVAL_DAMAGED`, and those of the disk. */
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
  /** Those without a result. */
  started: Map<string, Started>;
  /** The length of the lines that are whole, in bytes, and their number. */
  end: number;
  lines: number;
};

/*
 * What was read lately, by its file: a page that shows an eval asks for it every other second while it runs. Of a version
 * only what was appended since is read then, and its head, which is never written again, is not.
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
  // A file in its place, and one that was cut meanwhile, is read anew.
  const isSame =
    known?.ino === ino && size >= known.version.end && markAt(path, known.version) === known.mark;
  const version = readVersion(path, isSame ? known.version : undefined);
  if (version) remember(versions, path, { ino, version, mark: markAt(path, version) });
  return version;
}

const longestMark = 256;

/** The end of what was read of a file: it is there still unless the file was written anew. */
function markAt(path: string, { end }: VersionFile): string {
  const start = Math.max(0, end - longestMark);
  return bytesFrom(path, start, end - start).toString("latin1");
}

/** The bytes of a file from a position on, at most so many. */
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

/** What a version's file has; after `before`, which was read of it, only what follows. */
function readVersion(path: string, before?: VersionFile): VersionFile | null {
  if (!existsSync(path)) return null;
  const bytes = bytesFrom(path, before?.end ?? 0);
  // What stands behind the last line end was being written when its process ended.
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
    throw WorkflowError.failed(
      "EVAL_DAMAGED",
      `${path}:${line}: this is no JSON: the record of the eval is damaged`,
      "correct the line, or move the folder away: the eval then begins anew",
      cause,
    );
  }
}

/** The record of an eval that is run by this process, and by no other. */
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

  /** Opens the record, or begins it. @throws WorkflowError `EVAL_RUNNING`, `EVAL_DAMAGED`, and those of the disk. */
  static open(root: string, head: EvalHead): EvalRecord {
    const folder = folderOf(root, head.id);
    makeFolder(folder);
    const lock = takeLock(join(folder, "lock"), 0);
    if (!lock) {
      const hint = "wait for it, or end it: this one would go on where it is";
      throw WorkflowError.failed("EVAL_RUNNING", `another process runs the eval ${head.id}`, hint);
    }
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

  /** Begins to record what is run on a version, behind what was. */
  openVersion({ hash, workflow }: Pick<VersionRuns, "hash" | "workflow">): void {
    const path = join(this.#folder, `${hash}.jsonl`);
    const known = readVersion(path);
    try {
      const fd = openSync(path, "a", 0o600);
      ftruncateSync(fd, known?.end ?? 0);
      // The versions of an eval are in the order in which they were begun, also within a millisecond.
      const at = Math.max(Date.now(), ...[...this.#versions.values()].map((one) => one.at + 1));
      const none = { hash, workflow, at, results: new Map(), started: new Map(), end: 0, lines: 0 };
      this.#versions.set(hash, { ...(known ?? none), fd });
      if (!known) this.#append(hash, { kind: "version", hash, workflow, at });
    } catch (error) {
      throw diskError(error, "write", path);
    }
  }

  /** What a run of a case came to; null when it has no result. */
  result(hash: string, one: { case: string; n: number }): CaseRun | null {
    return this.#of(hash).results.get(keyOf(one)) ?? null;
  }

  /** The thread of a run that was started, and has no result. */
  thread(hash: string, one: { case: string; n: number }): string | null {
    return this.#of(hash).started.get(keyOf(one))?.threadId ?? null;
  }

  /** Records which thread a run will have: it is on the disk before the thread is started. */
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

  /** The runs of a version, of these cases and repetitions alone. */
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
