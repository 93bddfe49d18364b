import { closeSync, openSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import type { WorkflowError } from "@uncaged/workflow/host";
import { processNotStarted } from "./errors.ts";

/** A started process. `mark` lets another command detect that the pid was reused. */
export type Started = { pid: number; mark: string };

/** Starts a program that outlives this process. Appends its output to a file. */
export function startDetached(
  argv: readonly string[],
  { env, cwd, log, mark }: { env: Record<string, string>; cwd?: string; log: string; mark: string },
): Started {
  const file = openSync(log, "a", 0o600);
  try {
    const child = Bun.spawn([...argv], {
      env,
      cwd,
      stdin: "ignore",
      stdout: file,
      stderr: file,
      detached: true,
    });
    child.unref();
    return { pid: child.pid, mark };
  } finally {
    closeSync(file);
  }
}

/** Whether a started process still runs. A reused pid counts as not running. */
export function runs({ pid, mark }: Started): boolean {
  // A starting process exists before it has a command line.
  for (let attempt = 1; attempt <= looks; attempt += 1) {
    const words = ["ps", "-ww", "-o", "stat=,command=", "-p", `${pid}`];
    const line = Bun.spawnSync(words).stdout.toString().trim();
    if (line === "" || line.startsWith("Z")) return false;
    if (line.includes(mark)) return true;
    Bun.sleepSync(lookMs);
  }
  return false;
}

const looks = 10;
const lookMs = 20;

/** Ends processes with SIGTERM, then with SIGKILL after `graceMs`. */
export async function end(all: readonly Started[], graceMs: number): Promise<void> {
  const signal = (one: Started, name: "SIGTERM" | "SIGKILL" | "SIGCONT") => {
    try {
      process.kill(one.pid, name);
    } catch {
      // The process has ended since.
    }
  };
  let left = all.filter(runs);
  for (const one of left) {
    signal(one, "SIGTERM");
    // A stopped process handles SIGTERM only after this signal.
    signal(one, "SIGCONT");
  }
  for (const late = Date.now() + graceMs; left.length > 0 && Date.now() < late; ) {
    await Bun.sleep(50);
    left = left.filter(runs);
  }
  for (const one of left) signal(one, "SIGKILL");
  while (left.length > 0) {
    await Bun.sleep(20);
    left = left.filter(runs);
  }
}

// Below the ephemeral ports, because an outgoing connection could take an ephemeral port before the server binds it.
const [firstPort, portCount] = [15_000, 15_000];

/** Returns free loopback ports. */
export async function freePorts(count: number): Promise<number[]> {
  const found = new Set<number>();
  while (found.size < count) {
    const port = firstPort + Math.floor(Math.random() * portCount);
    if (await isFree(port)) found.add(port);
  }
  return [...found];
}

/** Whether a loopback port is free. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, host: "127.0.0.1" }, () => server.close(() => resolve(true)));
  });
}

/** Returns the last line of a process's log file. */
export function lastLine(log: string): string {
  try {
    return readFileSync(log, "utf8").trim().split("\n").at(-1)?.slice(0, 300) || "no output";
  } catch {
    return "no output";
  }
}

export const notStarted = (what: string, log: string): WorkflowError =>
  processNotStarted(what, lastLine(log), log);
