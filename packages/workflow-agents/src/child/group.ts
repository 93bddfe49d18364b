import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { constants } from "node:os";
import type { Readable } from "node:stream";
import { programPath } from "./program.ts";
import type { GroupRequest } from "./request.ts";

/**
 * A process in its own group. `ended` resolves when the group has ended and its output has been read. `end` sends
 * SIGTERM to the group, and SIGKILL after the grace period.
 */
export type ProcessGroup = {
  child: ChildProcessWithoutNullStreams;
  pid: number;
  ended: Promise<{ exitCode: number | null; signal: string | null }>;
  end: () => Promise<void>;
};

// Maximum wait for the output of processes that the command left behind, in milliseconds.
const drainMs = 250;
const pollMs = 10;
const lastMs = 200;

/**
 * Starts a process in its own group. The group ends when the process exits, or when this process is killed. With `own`,
 * all processes that the command started end too, even in other groups.
 */
export async function spawnGroup(request: GroupRequest): Promise<ProcessGroup> {
  const { argv, cwd, descriptors = [], graceMs, isSandbox = false, own } = request;
  // Shells set PWD to the working directory, and bubblewrap does too.
  const env: Record<string, string> = { ...request.env, PWD: cwd };
  const [name = "", ...rest] = argv;
  const [command = "", ...args] = own ? own([programPath(name, cwd, env), ...rest], graceMs) : argv;
  const child = spawn(command, args, {
    ...{ cwd, env, detached: true },
    stdio: ["pipe", "pipe", "pipe", ...(own ? ["pipe" as const] : descriptors)],
  }) as ChildProcessWithoutNullStreams;
  const { pid } = child;
  // If this process is killed before the guard starts, the group keeps running.
  const guard = pid === undefined ? null : guardGroup(pid, graceMs);
  // A command may ignore its input.
  child.stdin.on("error", () => undefined);
  const closed = new Promise<void>((done) => child.once("close", () => done()));
  let hasExited = false;
  const leader = own ? firstProcess(child.stdio[3] as Readable) : Promise.resolve(null);
  void leader.then((inner) => inner !== null && guard?.follow(inner));
  const group = pid === undefined ? null : new Group(pid, leader, () => hasExited, graceMs);
  const ended: ProcessGroup["ended"] = new Promise((resolve) => {
    child.once("exit", (exitCode, signal) => {
      hasExited = true;
      void (async () => {
        const inner = await leader;
        // A sandbox leaves only zombie processes, until the system's first process reaps them.
        const mayLeave = !isSandbox && inner === null;
        if (pid !== undefined && mayLeave && signalGroup(pid, 0)) await group?.end();
        // Bubblewrap itself was killed, but its namespace still runs.
        if (inner !== null && signal !== null) signalGroup(inner, "SIGKILL");
        await Promise.race([closed, new Promise((done) => setTimeout(done, drainMs))]);
        child.stdout.destroy();
        child.stderr.destroy();
        guard?.release();
        resolve(own ? ownEnd(exitCode, signal) : { exitCode, signal });
      })();
    });
  });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
  if (pid === undefined || group === null) throw new Error("missing process id");
  child.on("error", () => undefined);
  return { child, pid, ended, end: () => group.end() };
}

/**
 * Ends a process group. With a PID namespace, `leader` is the process that leads the group in the namespace, and `pid`
 * is the process that waits for `leader`.
 */
class Group {
  readonly #pid: number;
  readonly #leader: Promise<number | null>;
  readonly #hasExited: () => boolean;
  readonly #graceMs: number;
  #ending: Promise<void> | null = null;

  constructor(
    pid: number,
    leader: Promise<number | null>,
    hasExited: () => boolean,
    graceMs: number,
  ) {
    this.#pid = pid;
    this.#leader = leader;
    this.#hasExited = hasExited;
    this.#graceMs = graceMs;
  }

  /** Sends SIGTERM to the group. After the grace period, sends SIGKILL to the remaining processes. */
  end(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #end(): Promise<void> {
    const leader = await this.#leader;
    const group = leader ?? this.#pid;
    // A namespace ends before the process that waits for it. The group of a namespace may not exist yet when its leader
    // is known, so send the signal until it arrives.
    const isGone = () => (leader === null ? !signalGroup(group, 0) : this.#hasExited());
    const latest = performance.now() + this.#graceMs;
    let isAsked = false;
    while (performance.now() < latest) {
      isAsked ||= signalGroup(group, "SIGTERM");
      if (isGone()) return;
      await pause();
    }
    signalGroup(group, "SIGKILL");
    if (leader !== null && !this.#hasExited()) signalGroup(this.#pid, "SIGKILL");
    const last = performance.now() + lastMs;
    while (performance.now() < last && !isGone()) await pause();
  }
}

const pause = () => new Promise((resolve) => setTimeout(resolve, pollMs));

/** Sends a signal to a whole group. Returns false if the group is empty. Zombie processes count as members. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, signal);
  } catch {
    return false;
  }
}

/** Returns the process id of a namespace's first process, as bubblewrap reports it, or null if no process started. */
async function firstProcess(info: Readable): Promise<number | null> {
  let text = "";
  await new Promise<void>((resolve) => {
    info.on("data", (chunk: Buffer) => (text += chunk.toString()));
    for (const end of ["end", "close", "error"]) info.once(end, () => resolve());
  });
  try {
    const { "child-pid": pid } = JSON.parse(text) as { "child-pid": number };
    return pid;
  } catch {
    return null;
  }
}

const signals = Object.entries(constants.signals);
const signalBase = 128;
/** Git's exit code for a usage error. */
const gitUsage = 129;

/**
 * Returns the exit code and signal of a command in its own namespace. Exit code 128 + n means that signal n killed the
 * command.
 */
function ownEnd(exitCode: number | null, signal: string | null) {
  const known = signals.find(([, number]) => exitCode === signalBase + number);
  if (!known || exitCode === gitUsage) return { exitCode, signal };
  return { exitCode: null, signal: known[0] };
}

const shell = "/bin/sh";
// Reads another group leader from stdin, if any. Then waits for the end of stdin, which is the end of this process.
// Stops when the group does not exist, because its number may be reused.
const script = `if read -r group; then read -r _; else group=$1; fi
kill -TERM -"$group" || exit
left=$2
while [ "$left" -gt 0 ]; do sleep 0.1 || sleep 1; kill -0 -"$group" || exit; left=$((left - 1)); done
kill -KILL -"$group"`;
const pollsPerSecond = 10;

/** A process that ends a process group when this process is killed. `follow` sets another group leader. */
type Guard = { follow: (leader: number) => void; release: () => void };

function guardGroup(pid: number, graceMs: number): Guard | null {
  if (!existsSync(shell)) return null;
  const polls = Math.max(pollsPerSecond, Math.ceil((graceMs * pollsPerSecond) / 1000));
  const guard = spawn(shell, ["-c", script, shell, String(pid), String(polls)], {
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  guard.on("error", () => undefined);
  guard.stdin.on("error", () => undefined);
  return {
    follow: (leader) => void guard.stdin.write(`${leader}\n`),
    release: () => void guard.kill("SIGKILL"),
  };
}
