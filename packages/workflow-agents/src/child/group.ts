/** Sends a signal to a whole process group; false when nothing of it is left. */
export function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, signal);
  } catch {
    return false;
  }
}

/** Whether a process of the group is left. One that nobody has waited for counts, for a moment. */
export const isGroupAlive = (pid: number): boolean => signalGroup(pid, 0);

const pollMs = 10;
const lastMs = 200;

/** Ends a process group: SIGTERM, and SIGKILL for what is left after `graceMs`. */
export async function endGroup(pid: number, graceMs: number): Promise<void> {
  signalGroup(pid, "SIGTERM");
  if (await isGone(pid, graceMs)) return;
  signalGroup(pid, "SIGKILL");
  await isGone(pid, lastMs);
}

async function isGone(pid: number, withinMs: number): Promise<boolean> {
  const end = performance.now() + withinMs;
  while (isGroupAlive(pid)) {
    if (performance.now() >= end) return false;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  return true;
}
