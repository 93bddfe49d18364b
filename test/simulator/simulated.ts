import { join } from "node:path";

const program = join(import.meta.dir, "simulate.ts");

/** Runs the simulator in a process and returns its output and exit code. */
export async function simulated(...args: string[]) {
  const child = Bun.spawn([process.execPath, program, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr, code] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  return { stdout, stderr, code };
}
