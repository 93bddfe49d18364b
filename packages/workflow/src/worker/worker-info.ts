import { diskError } from "../disk/disk-error.ts";
import { asideName, readOwnFile, removeQuietly, withFile, writeAll } from "../disk/files.ts";
import { O_APPEND, O_CREAT, O_EXCL, O_WRONLY, type ProcessIdentity } from "../system/port.ts";
import { system } from "../system/system.ts";

const longestFile = 1024 * 1024 * 1024;

/**
 * What `run/<hash>.holder` records: who took the lock, what it drives, whether it ever drove anything; and the marks
 * with which processes may run that nobody waits for any more, should it have been lost. `follows` is the last worker before
 * it that was lost with threads.
 */
export type WorkerInfo = {
  identity: ProcessIdentity;
  follows: ProcessIdentity | null;
  live: string[];
  drove: boolean;
  marks: string[];
};

/**
 * The worker's own record, for the one case in which it can't be asked: `kill --force`. It proves
 * nothing alone; the lock and the process's start time do.
 */
export class WorkerInfoFile {
  /**
   * Whether a worker before this one left its file, since the system started: it was lost, or could not sync a log.
   * Which logs are concerned nobody knows: who follows a lost worker leaves its own file too.
   */
  readonly followsLost: boolean;
  /** The marks of the workers before this one that were lost. */
  readonly lostMarks: readonly string[];
  readonly #path: string;

  constructor(path: string, mark = "") {
    this.#path = path;
    const { files, processes } = system;
    const { pid } = processes;
    const identity = processes.identify(pid) ?? { pid, startTime: null, bootId: null };
    const isThere = files.exists(path);
    const before = isThere ? readWorkerInfo(path) : null;
    this.followsLost = isThere && (before?.identity.bootId ?? identity.bootId) === identity.bootId;
    this.lostMarks = this.followsLost ? (before?.marks ?? []) : [];
    // There is a file at any time: were this worker lost now, the next must see that one was.
    const aside = asideName(path);
    try {
      const marks = mark === "" ? this.lostMarks : [...this.lostMarks, mark];
      const follows = before?.live.length ? before.identity : before?.follows;
      write(aside, JSON.stringify({ ...identity, marks, follows }), O_WRONLY | O_CREAT | O_EXCL);
      files.rename(aside, path);
    } catch (error) {
      removeQuietly(aside);
      throw diskError(error, "write", path);
    }
  }

  /** Notes that a thread is being driven, or no longer is (it ended, it is paused, it waits). */
  note(threadId: string, live: boolean): void {
    this.#append(`${live ? "+" : "-"}${threadId}`);
  }

  /** Notes that what runs with a mark need not be ended: it has been, or its worker was not lost. */
  forget(marks: readonly string[]): void {
    for (const mark of marks) this.#append(`=${mark}`);
  }

  #append(line: string): void {
    try {
      write(this.#path, line, O_WRONLY | O_APPEND);
    } catch {
      // Without the note a forced kill leaves a thread interrupted, or a mark is looked for again; nothing is lost.
    }
  }

  remove(): void {
    system.files.remove(this.#path);
  }
}

const write = (path: string, line: string, flags: number): void =>
  withFile(path, (fd) => writeAll(fd, Buffer.from(`${line}\n`)), flags);

type Noted = { marks?: string[]; follows?: ProcessIdentity | null };

/** Reads a worker's info; null when there is none that can be read. */
export function readWorkerInfo(path: string): WorkerInfo | null {
  try {
    const bytes = readOwnFile(path, longestFile);
    if (bytes === null) return null;
    const text = new TextDecoder().decode(bytes);
    const [first = "", ...notes] = text.split("\n");
    const record = JSON.parse(first) as (ProcessIdentity & Noted) | null;
    if (!Number.isInteger(record?.pid) || !record) return null;
    const { marks = [], follows = null, ...identity } = record;
    const last = new Map(notes.filter(Boolean).map((note) => [note.slice(1), note[0]]));
    const live = [...last.keys()].filter((threadId) => last.get(threadId) === "+");
    return {
      identity,
      follows,
      live,
      drove: notes.some((note) => note.startsWith("+")),
      marks: marks.filter((mark) => !notes.includes(`=${mark}`)),
    };
  } catch {
    return null;
  }
}

/** Whether the process that an identity names still runs. */
export function isAlive(identity: ProcessIdentity): boolean {
  const now = system.processes.identify(identity.pid);
  return now !== null && now.startTime === identity.startTime && now.bootId === identity.bootId;
}
