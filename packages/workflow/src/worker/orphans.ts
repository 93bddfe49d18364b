import type { Orphan } from "../contract/event.ts";
import { maskOf } from "../contract/mask.ts";
import { takeLock } from "../disk/lock.ts";
import { lockPath, type Root, workerInfoPath } from "../disk/paths.ts";
import type { FoundProcess } from "../system/port.ts";
import { markVariable } from "../system/worker-env.ts";
import { system } from "../system/system.ts";
import { readWorkerInfo } from "./worker-info.ts";

/*
 * The processes that a worker has started, and those that they have, outlive it when it is killed. Each worker has a
 * mark of its own in its environment, which they inherit; the file of its successor names the marks of those that were
 * lost, until what they have left is ended.
 */

/** How long a process may take to end when it is asked to, and when it is forced to. */
const graceMs = 1_000;
const forceMs = 400;
const pollMs = 20;
const longestCommand = 120;

/** The processes that run with one of these marks. */
export const findOrphans = (marks: readonly string[]): Orphan[] =>
  foundWith(marks).map((found) => orphanOf(found, null));

const foundWith = (marks: readonly string[]): FoundProcess[] =>
  marks.length === 0 ? [] : system.processes.withVariable(markVariable, new Set(marks));

/**
 * Ends the processes that run with one of these marks, and what they start meanwhile: SIGTERM, and SIGKILL for what is
 * left. The workers whose marks they are must have ended. Resolves to what it found, also to what runs on.
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

/** What the lost workers before this one had left. It is being ended from the first on. */
export class Orphans {
  readonly ended: Promise<void>;
  #found: Orphan[] = [];

  /** `onEnded` is called when nothing of it runs any more. */
  constructor(marks: readonly string[], onEnded: () => void) {
    this.ended = marks.length === 0 ? Promise.resolve() : this.#end(marks, onEnded);
  }

  /** What was found, for a thread that goes on; nothing when nothing was. */
  get report(): Report {
    return reportOf(this.#found);
  }

  /** Has what runs of a fork's source ended, which may be of another version, and gives what was found. */
  async besideFork(root: Root, hash: string, source?: string): Promise<Report> {
    if (source === undefined) return {};
    if (source === hash) return this.report;
    const { marks } = readWorkerInfo(workerInfoPath(root, source)) ?? { marks: [] };
    const lock = marks.length === 0 ? null : takeLock(lockPath(root, source), 0);
    // Whoever has it drives that version, and has ended what was there.
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
      console.error(`a worker before this one was lost and had left ${JSON.stringify(orphan)}`);
    }
  }
}

function orphanOf({ identity, argv, env }: FoundProcess, ended: Orphan["ended"]): Orphan {
  const command = maskOf(env)(argv.join(" ").replace(/\s+/g, " ")).slice(0, longestCommand);
  return { pid: identity.pid, command, ended };
}
