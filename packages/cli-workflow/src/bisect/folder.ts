import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { openLocalHost } from "@uncaged/workflow/host";

/** Returns the storage root in the temporary folder of a bisect. */
export const rootIn = (folder: string): string => join(folder, "root");

/** Ends the workers of the root in a folder. */
export async function endWorkers(folder: string): Promise<void> {
  const host = openLocalHost({ path: rootIn(folder), env: {} });
  try {
    const workers = (await host.workers()).flatMap(({ pid }) => pid ?? []);
    for (const pid of workers) end(pid);
    while (workers.some(isAlive)) await pause(20);
  } finally {
    await host.close();
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The process has ended meanwhile.
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
