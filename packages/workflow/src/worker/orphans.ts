import type { Orphan } from "../contract/event.ts";
import { maskOf } from "../contract/mask.ts";
import { takeLock } from "../disk/lock.ts";
import { lockPath, type Root, workerInfoPath } from "../disk/paths.ts";
import type { FoundProcess } from "../system/port.ts";
import { markVariable } from "../system/worker-env.ts";
import { system } from "../system/system.ts";
import { readWorkerInfo } from "./worker-info.ts";

/*
 * The processes that a worker started, and their descendants, outlive a killed worker. They inherit the worker's unique
 * mark from its environment. The next worker's file lists the marks of lost workers until their processes are ended.
 */

/** Maximum wait for the end of a process after SIGTERM, and after SIGKILL, in milliseconds. */
const graceMs = 1_000;
const forceMs = 400;
const pollMs = 20;
const longestCommand = 120;

/** Returns the processes that run with one of these marks. */
export const findOrphans = (marks: readonly string[]): Orphan[] =>
  foundWith(marks).map((found) => orphanOf(found, null));

const foundWith = (marks: readonly string[]): FoundProcess[] =>
  marks.length === 0 ? [] : system.processes.withVariable(markVariable, new Set(marks));

/**
 * Ends the processes with one of these marks, and processes that they start meanwhile: SIGTERM, then SIGKILL. The
 * workers with these marks must have ended. Resolves with all found processes, including survivors.
 */
export async function endOrphans(marks: readonly string[]): Promise<Orphan[]> {
  const orphans = new Map<string, Orphan>();
  const { clock, processes } = system;
  const begin = clock.elapsed();
  for (;;) {
    const running = foundWith(marks);
    const spent = clock.elapsed() - begin;
    const isOver = running.length === 0 || spent >= graceMs + forceMs;
    const signal = spent < graceMs ? "SIGTERM" : "SIGKILL";
    for (const found of running) {
      const key = `${found.identity.pid} ${found.identity.startTime}`;
      if (!isOver && orphans.get(key)?.ended === signal) continue;
      orphans.set(key, orphanOf(found, isOver ? null : signal));
      if (!isOver) processes.signal(found.identity, signal);
    }
    if (isOver) return [...orphans.values()];
    await clock.sleep(pollMs);
  }
}

type Report = { orphans?: Orphan[] };

const reportOf = (orphans: Orphan[]): Report => (orphans.length === 0 ? {} : { orphans });

/** The processes left by lost workers. The constructor starts to end them. */
export class Orphans {
  readonly ended: Promise<void>;
  #found: Orphan[] = [];

  /** Calls `onEnded` when all processes have ended. */
  constructor(marks: readonly string[], onEnded: () => void) {
    this.ended = marks.length === 0 ? Promise.resolve() : this.#end(marks, onEnded);
  }

  /** The found processes, for the response to the request that continues a thread; empty if there were none. */
  get report(): Report {
    return reportOf(this.#found);
  }

  /** Ends and reports the processes left by the worker of a fork's source, which may have another version. */
  async besideFork(root: Root, hash: string, source?: string): Promise<Report> {
    if (source === undefined) return {};
    if (source === hash) return this.report;
    const { marks } = readWorkerInfo(workerInfoPath(root, source)) ?? { marks: [] };
    const lock = marks.length === 0 ? null : takeLock(lockPath(root, source), 0);
    // A worker that holds the lock drives that version and has ended its orphans.
    if (!lock) return {};
    try {
      return reportOf(await endOrphans(marks));
    } finally {
      lock.release();
    }
  }

  async #end(marks: readonly string[], onEnded: () => void): Promise<void> {
    this.#found = await endOrphans(marks);
    if (this.#found.every(({ ended }) => ended !== null)) onEnded();
    for (const orphan of this.#found) {
      console.error(`an earlier worker was lost and left the process ${JSON.stringify(orphan)}`);
    }
  }
}

function orphanOf({ identity, argv, env }: FoundProcess, ended: Orphan["ended"]): Orphan {
  const command = maskOf(env)(argv.join(" ").replace(/\s+/g, " ")).slice(0, longestCommand);
  return { pid: identity.pid, command, ended };
}
