import { diskError } from "../disk/disk-error.ts";
import { asideName, readOwnFile, removeQuietly, withFile, writeAll } from "../disk/files.ts";
import { O_APPEND, O_CREAT, O_EXCL, O_WRONLY, type ProcessIdentity } from "../system/port.ts";
import { system } from "../system/system.ts";

const longestFile = 1024 * 1024 * 1024;

/**
 * The content of `run/<hash>.holder`: the process that took the lock, its driven threads, whether it ever drove a
 * thread, and the marks of processes that may outlive it. `follows` is the last earlier worker that was lost with
 * threads.
 */
export type WorkerInfo = {
  identity: ProcessIdentity;
  follows: ProcessIdentity | null;
  live: string[];
  drove: boolean;
  marks: string[];
};

/**
 * The worker's record about itself, for `kill --force` of an unresponsive worker. Only the lock and the process's start
 * time prove that it is valid.
 */
export class WorkerInfoFile {
  /**
   * Whether an earlier worker left its file since the system started, because it was lost or could not sync a log. The
   * affected logs are unknown, so a worker that follows a lost worker also leaves its file.
   */
  readonly followsLost: boolean;
  /** The marks of lost workers before this worker. */
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
    // Replace the file atomically: if this worker is lost now, the next worker must detect the loss.
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

  /** Records that a thread is driven, or has stopped: it ended, is paused or waits. */
  note(threadId: string, live: boolean): void {
    this.#append(`${live ? "+" : "-"}${threadId}`);
  }

  /** Records that the processes of a mark need not be ended: they have ended, or their worker was not lost. */
  forget(marks: readonly string[]): void {
    for (const mark of marks) this.#append(`=${mark}`);
  }

  #append(line: string): void {
    try {
      write(this.#path, line, O_WRONLY | O_APPEND);
    } catch {
      // Ignore errors: without the record, a forced kill leaves a thread interrupted, or a mark is searched for again.
    }
  }

  remove(): void {
    system.files.remove(this.#path);
  }
}

const write = (path: string, line: string, flags: number): void =>
  withFile(path, (fd) => writeAll(fd, Buffer.from(`${line}\n`)), flags);

type Noted = { marks?: string[]; follows?: ProcessIdentity | null };

/** Reads a worker's info; null if it is missing or unreadable. */
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

/** Whether the identified process still runs. */
export function isAlive(identity: ProcessIdentity): boolean {
  const now = system.processes.identify(identity.pid);
  return now !== null && now.startTime === identity.startTime && now.bootId === identity.bootId;
}
