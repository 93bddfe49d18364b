import { encodeText } from "../contract/intrinsics.ts";
import { diskError } from "../storage/disk-error.ts";
import { asideName, readOwnFile, withFile, writeAll } from "../storage/files.ts";
import { O_APPEND, O_CREAT, O_EXCL, O_WRONLY, type ProcessIdentity } from "../system/port.ts";
import { system } from "../system/system.ts";

const longestFile = 1024 * 1024 * 1024;

/** What `run/<hash>.holder` records: who took the lock, what it drives, and whether it ever drove anything. */
export type WorkerInfo = { identity: ProcessIdentity; live: string[]; drove: boolean };

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
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
    const { files, processes } = system;
    const { pid } = processes;
    const identity = processes.identify(pid) ?? { pid, startTime: null, bootId: null };
    const before = readWorkerInfo(path)?.identity.bootId ?? identity.bootId;
    this.followsLost = files.exists(path) && before === identity.bootId;
    // There is a file at any time: were this worker lost now, the next must see that one was.
    const aside = asideName(path);
    try {
      write(aside, JSON.stringify(identity), O_WRONLY | O_CREAT | O_EXCL);
      files.rename(aside, path);
    } catch (error) {
      throw diskError(error, "write", path);
    }
  }

  /** Notes that a thread is being driven, or no longer is (it ended, it is paused, it waits). */
  note(threadId: string, live: boolean): void {
    try {
      write(this.#path, `${live ? "+" : "-"}${threadId}`, O_WRONLY | O_APPEND);
    } catch {
      // Without the note a forced kill leaves the thread interrupted; nothing is lost.
    }
  }

  remove(): void {
    system.files.remove(this.#path);
  }
}

const write = (path: string, line: string, flags: number): void =>
  withFile(path, (fd) => writeAll(fd, encodeText(`${line}\n`)), flags);

/** Reads a worker's info; null when there is none that can be read. */
export function readWorkerInfo(path: string): WorkerInfo | null {
  try {
    const text = new TextDecoder().decode(readOwnFile(path, longestFile) ?? undefined);
    const [first = "", ...notes] = text.split("\n");
    const identity = JSON.parse(first) as ProcessIdentity | null;
    if (!Number.isInteger(identity?.pid) || !identity) return null;
    const last = new Map(notes.filter(Boolean).map((note) => [note.slice(1), note[0]]));
    const live = [...last.keys()].filter((threadId) => last.get(threadId) === "+");
    return { identity, live, drove: notes.some((note) => note.startsWith("+")) };
  } catch {
    return null;
  }
}

/** Whether the process that an identity names still runs. */
export function isAlive(identity: ProcessIdentity): boolean {
  const now = system.processes.identify(identity.pid);
  return now !== null && now.startTime === identity.startTime && now.bootId === identity.bootId;
}
