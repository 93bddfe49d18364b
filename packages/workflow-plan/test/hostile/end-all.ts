import { readdirSync, readFileSync } from "node:fs";

/** Ends all processes with a mark in their command line or environment. Returns true when none is left. */
export function endAll(mark: string): boolean {
  const read = (id: string, file: string): string => {
    try {
      return readFileSync(`/proc/${id}/${file}`, "latin1");
    } catch {
      return "";
    }
  };
  const left = readdirSync("/proc")
    .filter((id) => /^\d+$/.test(id) && Number(id) !== process.pid)
    .filter((id) => `${read(id, "cmdline")}${read(id, "environ")}`.includes(mark));
  for (const id of left) {
    try {
      process.kill(Number(id), "SIGKILL");
    } catch {
      // The process has exited meanwhile.
    }
  }
  return left.length === 0;
}
