import { closeSync, openSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { WorkflowError } from "@uncaged/workflow/host";

/** A process that was started, and by what another command knows that the number is still that process's. */
export type Started = { pid: number; mark: string };

/** Starts a program that goes on when this one has ended. What it prints is appended to a file. */
export function startDetached(
  argv: readonly string[],
  { env, log, mark }: { env: Record<string, string>; log: string; mark: string },
): Started {
  const file = openSync(log, "a", 0o600);
  try {
    const child = Bun.spawn([...argv], {
      env,
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

/** Whether a process that was started runs. A number that another program has got since is not it. */
export function runs({ pid, mark }: Started): boolean {
  const { exitCode, stdout } = Bun.spawnSync(["ps", "-ww", "-o", "stat=,command=", "-p", `${pid}`]);
  const line = stdout.toString().trim();
  return exitCode === 0 && !line.startsWith("Z") && line.includes(mark);
}

/** Ends processes: asks them to, and kills those that have not ended after `graceMs`. */
export async function end(all: readonly Started[], graceMs: number): Promise<void> {
  const signal = (one: Started, name: "SIGTERM" | "SIGKILL" | "SIGCONT") => {
    try {
      process.kill(one.pid, name);
    } catch {
      // It has ended since.
    }
  };
  let left = all.filter(runs);
  for (const one of left) {
    signal(one, "SIGTERM");
    // A process that is stopped takes no signal but this one.
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

/** Ports of loopback that are free now. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer();
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      server.once("error", reject).listen({ port: 0, host: "127.0.0.1" }, resolve);
      await promise;
      return server;
    }),
  );
  const ports = servers.map((server) => {
    const address = server.address();
    return typeof address === "object" && address ? address.port : 0;
  });
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}

/** The last line that a process has printed into its file. */
export function lastLine(log: string): string {
  try {
    return (
      readFileSync(log, "utf8").trim().split("\n").at(-1)?.slice(0, 300) || "it printed nothing"
    );
  } catch {
    return "it printed nothing";
  }
}

export const notStarted = (what: string, log: string): WorkflowError =>
  WorkflowError.failed("CLUSTER_NOT_STARTED", `${what}: ${lastLine(log)}`, `see ${log}`);
