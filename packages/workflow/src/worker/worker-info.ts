import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { readOwnFile } from "../storage/files.ts";

/** A process that can't be taken for a later one with the same pid. */
export type ProcessIdentity = { pid: number; startTime: string | null; bootId: string | null };

const longestFile = 1024 * 1024 * 1024;

/** What `run/<hash>.holder` records: who took the lock, what it drives, and whether it ever drove anything. */
export type WorkerInfo = { identity: ProcessIdentity; live: string[]; drove: boolean };

/**
 * The worker's own record, for the one case in which it can't be asked: `kill --force`. It proves
 * nothing alone; the lock and the process's start time do.
 */
export class WorkerInfoFile {
  /** Whether a worker before this one left its file: it was lost, or could not sync a log. */
  readonly followsLost: boolean;
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
    const identity = identify(process.pid) ?? { pid: process.pid, startTime: null, bootId: null };
    this.followsLost = existsSync(path);
    rmSync(path, { force: true });
    writeFileSync(path, `${JSON.stringify(identity)}\n`, { flag: "wx", mode: 0o600 });
  }

  /** Notes that a thread is being driven, or no longer is (it ended, it is paused, it waits). */
  note(threadId: string, live: boolean): void {
    try {
      appendFileSync(this.#path, `${live ? "+" : "-"}${threadId}\n`);
    } catch {
      // Without the note a forced kill leaves the thread interrupted; nothing is lost.
    }
  }

  remove(): void {
    rmSync(this.#path, { force: true });
  }
}

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

/** Who the process with this pid is, or null when there is none. */
export const identify = (pid: number): ProcessIdentity | null =>
  process.platform === "linux" ? identifyByProc(pid) : identifyByPs(pid);

// proc_pid_stat(5): the start time is field 22; the command in field 2 may hold spaces and brackets.
function identifyByProc(pid: number): ProcessIdentity | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const startTime = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? null;
    const bootId = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return { pid, startTime, bootId };
  } catch {
    return null;
  }
}

function identifyByPs(pid: number): ProcessIdentity | null {
  const found = Bun.spawnSync(["ps", "-o", "lstart=", "-p", String(pid)], { stderr: "ignore" });
  const startTime = found.stdout.toString().trim();
  return startTime === "" ? null : { pid, startTime, bootId: null };
}

/** Whether the process that an identity names still runs. */
export function isAlive(identity: ProcessIdentity): boolean {
  const now = identify(identity.pid);
  return now !== null && now.startTime === identity.startTime && now.bootId === identity.bootId;
}

/** Ends a worker at once. It leads its process group, so the commands that its roles started go with it. */
export function endGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    process.kill(pid, "SIGKILL");
  }
}
