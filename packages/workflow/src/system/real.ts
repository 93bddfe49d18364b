import { mkdtempSync, readFileSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { files } from "./files.ts";
import type {
  Clock,
  Column,
  Database,
  FoundProcess,
  Processes,
  ProcessIdentity,
  RunEnd,
  SocketOutcome,
  SocketRequest,
  Sockets,
  System,
} from "./port.ts";
import { commandOf } from "./programs.ts";

// Bundles share the worker's process and may mock these functions, so they are captured first. The worker itself
// replaces `process.exit`.
const { now } = Date;
const { setTimeout, clearTimeout, setImmediate } = globalThis;
const { pid } = process;
const exit = process.exit.bind(process);
const kill = process.kill.bind(process);
const monotonic = performance.now.bind(performance);
const { serve, sleep, sleepSync, spawn, spawnSync, pathToFileURL, which } = Bun;

const clock: Clock = {
  now,
  elapsed: monotonic,
  after(ms, act) {
    const timer = setTimeout(act, ms);
    return () => clearTimeout(timer);
  },
  sleep: (ms) => sleep(ms),
  sleepSync: (ms) => sleepSync(ms),
  turn() {
    return new Promise((resolve) => {
      setImmediate(resolve);
    });
  },
};

// sockaddr_un holds 104 bytes with the final zero on macOS, 108 on Linux: unix(4), unix(7).
const longestSocketPath = 103;
const largestBody = 512 * 1024 * 1024;
const nobody = new Set(["ENOENT", "ECONNREFUSED", "FailedToOpenSocket", "ConnectionRefused"]);

const sockets: Sockets = {
  listen(path, answer) {
    // Use only the socket's name, because its path may be too long.
    const before = process.cwd();
    process.chdir(dirname(path));
    serve({
      unix: basename(path),
      maxRequestBodySize: largestBody,
      async fetch(request) {
        const { method, url } = request;
        const given = { method, path: new URL(url).pathname, body: await request.text() };
        const { status, body } = await answer(given);
        return new Response(body, { status });
      },
    });
    process.chdir(before);
  },
  async request(path, request, timeoutMs) {
    if (Buffer.byteLength(path) <= longestSocketPath) return await send(path, request, timeoutMs);
    const folder = makeTemporary();
    try {
      symlinkSync(dirname(path), join(folder, "r"));
      return await send(join(folder, "r", basename(path)), request, timeoutMs);
    } finally {
      files.removeTree(folder);
    }
  },
};

function makeTemporary(): string {
  try {
    return mkdtempSync(join(tmpdir(), "uw-"));
  } catch {
    // TMPDIR may name a folder that does not exist.
    return mkdtempSync("/tmp/uw-");
  }
}

async function send(
  unix: string,
  { method, path, body }: SocketRequest,
  timeoutMs: number,
): Promise<SocketOutcome> {
  const controller = new AbortController();
  const { signal } = controller;
  const timer = setTimeout(() => controller.abort(), timeoutMs);
  try {
    // Do not keep connections alive: the worker at the other end may have exited.
    const given = { unix, method, signal, keepalive: false, ...(body !== undefined && { body }) };
    const response = await fetch(`http://worker${path}`, given);
    const text = await response.text();
    return { kind: "response", response: { status: response.status, body: text } };
  } catch (error) {
    if (signal.aborted) return { kind: "silent" };
    const { code } = error as { code?: unknown };
    return nobody.has(String(code)) ? { kind: "nobody" } : { kind: "lost", error };
  } finally {
    clearTimeout(timer);
  }
}

const isLinux = process.platform === "linux";
const isPid = /^[0-9]+$/;

async function run(
  argv: readonly string[],
  input: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<RunEnd | null> {
  if (which(argv[0] as string) === null) return null;
  const stdin = new TextEncoder().encode(input);
  const child = spawn([...argv], {
    ...{ stdin, stdout: "pipe", stderr: "pipe" },
    env: { ...process.env, ...variables },
  });
  const text = (stream: ReadableStream<Uint8Array>) => new Response(stream).text();
  const [output, error] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { exitCode: await child.exited, output, error };
}

const processes: Processes = {
  pid,
  identify: isLinux ? identifyByProc : identifyByPs,
  withVariable(name, values) {
    if (!isLinux || !files.exists("/proc")) return [];
    return files.list("/proc").flatMap((entry) => {
      const found = isPid.test(entry) ? findByProc(Number(entry), `${name}=`) : null;
      return found && values.has(found.env[name] as string) ? [found] : [];
    });
  },
  machineId() {
    try {
      return readText("/etc/machine-id").trim();
    } catch {
      return "";
    }
  },

  comesFrom(name, pids) {
    const line = isLinux ? lineByProc() : lineByPs();
    const isMarked = (id: number) => isLinux && hasVariable(id, name);
    if (line.some((id) => (id !== pid && pids.has(id)) || isMarked(id))) return true;
    return !isLinux && process.env[name] !== undefined;
  },
  signal(identity, signal) {
    try {
      if (processes.identify(identity.pid)?.startTime === identity.startTime)
        kill(identity.pid, signal);
    } catch {
      // The process has ended, or belongs to another user; the caller checks again.
    }
  },
  startWorker(args, { folder, env, output }) {
    const child = spawn(commandOf("worker", args), {
      cwd: folder,
      env,
      stdio: ["ignore", output, output],
      detached: true,
    });
    child.unref();
    return child;
  },
  run,
  kill(leader) {
    try {
      kill(-leader, "SIGKILL");
    } catch {
      kill(leader, "SIGKILL");
    }
  },
  onStop(act) {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => act());
  },
  exit,
};

/** Whether a process is a zombie or dead. In a container without an init process, zombies may remain. */
const isDead = (state: string): boolean => state.startsWith("Z") || state.startsWith("X");

const readText = (path: string): string => readFileSync(path, "utf8");

/**
 * Returns the fields of `/proc/PID/stat` from the third on, the state. The start time is field 22. Field 2, the
 * command, may contain spaces and parentheses: proc_pid_stat(5).
 */
const fieldsOf = (stat: string): string[] => stat.slice(stat.lastIndexOf(")") + 2).split(" ");

function identifyByProc(id: number): ProcessIdentity | null {
  try {
    const [state = "", ...fields] = fieldsOf(readText(`/proc/${id}/stat`));
    const [threads, , startTime = null] = fields.slice(16);
    // Other threads of the process keep files and locks open, even after the main thread has ended.
    if (isDead(state) && Number(threads) <= 1) return null;
    const bootId = readText("/proc/sys/kernel/random/boot_id").trim();
    return { pid: id, startTime, bootId };
  } catch {
    return null;
  }
}

// Unreadable files belong to another user's process or to an ended process; a zombie's file is empty: proc(5).
function findByProc(id: number, having: string): FoundProcess | null {
  try {
    const environ = readText(`/proc/${id}/environ`);
    if (!environ.includes(having)) return null;
    const env = Object.fromEntries(environ.split("\0").map(variable));
    const identity = identifyByProc(id);
    const argv = readText(`/proc/${id}/cmdline`).split("\0").slice(0, -1);
    return identity && { identity, argv, env };
  } catch {
    return null;
  }
}

function variable(text: string): [name: string, value: string] {
  const at = text.indexOf("=");
  return [text.slice(0, at), text.slice(at + 1)];
}

/** Returns this process, its ancestors, and the first process of its PID namespace. */
const lineByProc = (): number[] =>
  lineBy((id) => {
    try {
      return Number(fieldsOf(readText(`/proc/${id}/stat`))[1]);
    } catch {
      return 0;
    }
  });

const lineByPs = (): number[] =>
  lineBy((id) => {
    const found = spawnSync(["ps", "-o", "ppid=", "-p", String(id)], { stderr: "ignore" });
    return Number(found.stdout.toString().trim());
  });

function lineBy(parentOf: (id: number) => number): number[] {
  const line = new Set<number>();
  for (let id = pid; id > 0 && !line.has(id); id = parentOf(id)) line.add(id);
  return [...line.add(1)];
}

/** Whether a process was started with a variable; false if the environment can't be read. */
function hasVariable(id: number, name: string): boolean {
  try {
    const environ = readText(`/proc/${id}/environ`);
    return environ.split("\0").some((text) => text.startsWith(`${name}=`));
  } catch {
    return false;
  }
}

function identifyByPs(id: number): ProcessIdentity | null {
  const fields = ["-o", "stat=", "-o", "lstart="];
  const found = spawnSync(["ps", ...fields, "-p", String(id)], { stderr: "ignore" });
  const [, state = "", startTime = ""] =
    /^(\S+)\s+(.*)$/.exec(found.stdout.toString().trim()) ?? [];
  return startTime === "" || isDead(state) ? null : { pid: id, startTime, bootId: null };
}

const drawn = new Uint32Array(1);
const random = (): number => (crypto.getRandomValues(drawn)[0] as number) / 2 ** 32;

/** Longest wait for another process's write lock, in milliseconds. */
const databaseBusyMs = 1_000;

async function openDatabase(path: string): Promise<Database> {
  // Import SQLite only here: few processes need it, and all should start quickly.
  const { Database } = await import("bun:sqlite");
  const database = new Database(path, { create: true });
  database.run(`PRAGMA busy_timeout = ${databaseBusyMs}`);
  return {
    run: (statements) => void database.run(statements),
    rows: <Row>(statement: string, ...values: Column[]) =>
      database.query<Row, Column[]>(statement).iterate(...values),
    atOnce: (change) => database.transaction(change).immediate(),
    close: () => database.close(),
  };
}

/** This machine. */
export const realSystem: System = {
  files,
  clock,
  sockets,
  processes,
  random,
  load: async (path) => (await import(pathToFileURL(path).href)) as object,
  openDatabase,
};
