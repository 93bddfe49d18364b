import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { Turns } from "./turns.ts";

/** A process from `/proc/PID/stat`. Pid and start time together identify it. */
export type Process = {
  pid: number;
  parent: number;
  started: string;
  tasks: number;
  /** Resident memory in bytes, shared pages counted in full. */
  resident: number;
};

/** Reads a process by its pid; null when it has ended. */
export function readProcess(pid: number): Process | null {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return null;
  }
  // The preceding field is the name that the process chooses; it may contain spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return {
    pid,
    parent: Number(fields[1]),
    // A zombie has no threads, but still uses a pid.
    tasks: Math.max(1, Number(fields[17])),
    started: fields[19] ?? "",
    resident: Math.max(0, Number(fields[21])) * pageSize(),
  };
}

let reading: Promise<Map<number, Process[]>> | null = null;

/**
 * Reads a process and all of its descendants; empty when the process has ended. Concurrent callers share one reading of
 * `/proc`.
 */
export async function readTree(pid: number): Promise<Process[]> {
  reading ??= readChildren().finally(() => (reading = null));
  const children = await reading;
  const root = readProcess(pid);
  if (root === null) return [];
  const tree = new Map([[pid, root]]);
  // The system may reuse a pid during the reading, so a descendant can seem to be its own ancestor.
  for (const { pid: parent } of tree.values()) {
    for (const one of children.get(parent) ?? []) if (!tree.has(one.pid)) tree.set(one.pid, one);
  }
  return [...tree.values()];
}

/** Reads all processes, by their parents' pids. */
async function readChildren(): Promise<Map<number, Process[]>> {
  const turns = new Turns(0);
  const children = new Map<number, Process[]>();
  for (const pid of processIds()) {
    const found = readProcess(pid);
    if (found === null) continue;
    const siblings = children.get(found.parent);
    if (siblings) siblings.push(found);
    else children.set(found.parent, [found]);
    await turns.next();
  }
  return children;
}

function processIds(): number[] {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    // No file descriptor is free; the next reading may succeed.
    return [];
  }
}

/** Reads the unreclaimable memory of a process in bytes: anonymous, swapped and shared pages. */
export async function readMemory(pid: number): Promise<{ own: number; shared: number }> {
  try {
    const rollup = await readFile(`/proc/${pid}/smaps_rollup`, "latin1");
    const of = (name: string) =>
      Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(rollup)?.[1] ?? Number.NaN) * 1024;
    const own = of("Pss_Anon") + of("SwapPss");
    if (Number.isFinite(own)) return { own, shared: of("Pss_Shmem") };
    return { own: of("Pss") || 0, shared: 0 };
  } catch {
    return { own: readProcess(pid)?.resident ?? 0, shared: 0 };
  }
}

/** Returns the swapped memory in bytes; 0 on a machine without swap. */
export function readSwapped(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "latin1");
    return Number(/^VmSwap:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

/** Whether the machine can swap. */
export function hasSwap(): boolean {
  try {
    return readFileSync("/proc/swaps", "latin1").trim().includes("\n");
  } catch {
    return false;
  }
}

let knownPageSize = 0;

/** Returns the machine's page size, from this process's auxiliary vector. */
function pageSize(): number {
  if (knownPageSize > 0) return knownPageSize;
  knownPageSize = 4096;
  try {
    const vector = readFileSync("/proc/self/auxv");
    for (let at = 0; at + 16 <= vector.length; at += 16) {
      if (vector.readBigUInt64LE(at) === pageSizeKey) {
        knownPageSize = Number(vector.readBigUInt64LE(at + 8));
      }
    }
  } catch {
    // Assume 4 KiB, the smallest page size.
  }
  return knownPageSize;
}

const pageSizeKey = 6n;
