import { readFileSync } from "node:fs";

/** Whether a process runs; one that is dead and not yet waited for does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3) !== "Z";
  } catch {
    return process.platform !== "linux";
  }
}

/** The number that stands in a file, 0 while there is none. */
export function numberIn(file: string): number {
  try {
    return Number.parseInt(readFileSync(file, "utf8"), 10) || 0;
  } catch {
    return 0;
  }
}

/** Waits until something is so, 10 seconds at most. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 30_000;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error("it did not come to be so within 30 seconds");
    await Bun.sleep(10);
  }
}
