import {
  closeSync,
  constants,
  existsSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmdirSync,
  rmSync,
  type Stats,
  statSync,
  symlinkSync,
  watch,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import {
  type Clock,
  type Column,
  type Database,
  type Files,
  type FoundProcess,
  O_RDONLY,
  type Processes,
  type ProcessIdentity,
  type RunEnd,
  type SocketOutcome,
  type SocketRequest,
  type Sockets,
  type System,
} from "./port.ts";
import { length, lock } from "./libc.ts";
import { commandOf } from "./programs.ts";

// A bundle shares the worker's process: what it does to a built-in later must not reach the worker.
const { now } = Date;
const { pid } = process;
const exit = process.exit.bind(process);
const kill = process.kill.bind(process);
const chdir = process.chdir.bind(process);
const cwd = process.cwd.bind(process);
const onSignal: (signal: NodeJS.Signals, act: () => void) => void = process.on.bind(process);
const { setTimeout, clearTimeout, setImmediate, fetch, Number, Response, URL } = globalThis;
const monotonic = performance.now.bind(performance);
const { serve, sleep, sleepSync, spawn, spawnSync, pathToFileURL, which } = Bun;
const { random: scatter } = Math;
const fillRandom = crypto.getRandomValues.bind(crypto);
const timeoutSignal = AbortSignal.timeout.bind(AbortSignal);

const Promises: { then: unknown } = Promise.prototype;
const { then } = Promises;

const withResolvers: <T>() => PromiseWithResolvers<T> = Promise.withResolvers.bind(Promise);

const absent = { throwIfNoEntry: false } as const;

const { S_IFMT, S_IFREG } = constants;

function isPlain(this: Stats): boolean {
  return (this.mode & S_IFMT) === S_IFREG;
}

const files: Files = {
  open: (path, flags) => openSync(path, flags, 0o600),
  close: closeSync,
  read: (fd, buffer, from, position) => readSync(fd, buffer, from, buffer.length - from, position),
  write: (fd, bytes, from) => writeSync(fd, bytes, from),
  truncate: ftruncateSync,
  sync: fsyncSync,
  syncData: fdatasyncSync,
  // Not promisify: node:util takes milliseconds to load.
  syncDataLater(fd) {
    const { promise, resolve, reject } = withResolvers<void>();
    // Bun calls back by way of the `then` that there is.
    if (Promises.then === then) fdatasync(fd, (error) => (error ? reject(error) : resolve()));
    else {
      fdatasyncSync(fd);
      resolve();
    }
    return promise;
  },
  lock,
  statOpen(fd) {
    const found = fstatSync(fd);
    // Its own methods are on a prototype that a bundle can reach.
    found.isFile = isPlain;
    return found;
  },
  length,
  stat: (path) => statSync(path, absent) ?? null,
  statLink: (path) => lstatSync(path, absent) ?? null,
  exists: existsSync,
  list: (folder) => readdirSync(folder),
  rename: renameSync,
  remove: (path) => rmSync(path, { force: true }),
  removeFolder: (folder) => rmdirSync(folder),
  removeTree: (folder) => rmSync(folder, { recursive: true, force: true }),
  makeFolder: (folder) => mkdirSync(folder, { recursive: true, mode: 0o700 }),
  syncFolder(folder) {
    const fd = openSync(folder, O_RDONLY);
    try {
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  },
  watch: (path, onChange, onError) =>
    watch(path, { persistent: false }, (_event, name) => onChange(name ?? "")).on("error", onError),
};

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
    const { promise, resolve } = withResolvers<void>();
    setImmediate(resolve);
    return promise;
  },
};

// sockaddr_un holds 104 bytes with the final zero on macOS, 108 on Linux: unix(4), unix(7).
const longestSocketPath = 103;
const largestBody = 512 * 1024 * 1024;
const nobody = new Set(["ENOENT", "ECONNREFUSED", "FailedToOpenSocket", "ConnectionRefused"]);

const sockets: Sockets = {
  listen(path, answer) {
    // By its name alone, which is never too long.
    const before = cwd();
    chdir(dirname(path));
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
    chdir(before);
  },
  async request(path, request, timeoutMs) {
    if (Buffer.byteLength(path) <= longestSocketPath) return await send(path, request, timeoutMs);
    const folder = await makeTemporary();
    try {
      symlinkSync(dirname(path), join(folder, "r"));
      return await send(join(folder, "r", basename(path)), request, timeoutMs);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

async function makeTemporary(): Promise<string> {
  const { tmpdir } = await import("node:os");
  try {
    return mkdtempSync(join(tmpdir(), "uw-"));
  } catch {
    // TMPDIR may name a folder that is not there.
    return mkdtempSync("/tmp/uw-");
  }
}

async function send(
  unix: string,
  { method, path, body }: SocketRequest,
  timeoutMs: number,
): Promise<SocketOutcome> {
  try {
    const signal = timeoutSignal(timeoutMs);
    // A connection that is kept may be to a worker that has ended.
    const given = { unix, method, signal, keepalive: false, ...(body !== undefined && { body }) };
    const response = await fetch(`http://worker${path}`, given);
    const text = await response.text();
    return { kind: "response", response: { status: response.status, body: text } };
  } catch (error) {
    if (error instanceof Error && error.name === "TimeoutError") return { kind: "silent" };
    const { code } = error as { code?: unknown };
    return nobody.has(String(code)) ? { kind: "nobody" } : { kind: "lost", error };
  }
}

const isLinux = process.platform === "linux";
const isPid = /^[0-9]+$/;

async function run(argv: readonly string[], input: string): Promise<RunEnd | null> {
  if (which(argv[0] as string) === null) return null;
  const stdin = new TextEncoder().encode(input);
  const child = spawn([...argv], { stdin, stdout: "pipe", stderr: "pipe" });
  const text = (stream: ReadableStream<Uint8Array>) => new Response(stream).text();
  const [output, error] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { exitCode: await child.exited, output, error };
}

const processes: Processes = {
  pid,
  identify: isLinux ? identifyByProc : identifyByPs,
  withVariable(name, values) {
    if (!isLinux || !existsSync("/proc")) return [];
    return readdirSync("/proc").flatMap((entry) => {
      const found = isPid.test(entry) ? findByProc(Number(entry), `${name}=`) : null;
      return found && values.has(found.env[name] as string) ? [found] : [];
    });
  },
  signal(identity, signal) {
    try {
      if (processes.identify(identity.pid)?.startTime === identity.startTime)
        kill(identity.pid, signal);
    } catch {
      // It is gone, or another user's: who asks looks again.
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
    for (const signal of ["SIGTERM", "SIGINT"] as const) onSignal(signal, () => act());
  },
  exit,
};

// proc_pid_stat(5): the start time is field 22; the command in field 2 may hold spaces and brackets.
/** Whether a process has ended, and only its parent has not asked how: in a container there may be nobody who does. */
const isDead = (state: string): boolean => state.startsWith("Z") || state.startsWith("X");

function identifyByProc(id: number): ProcessIdentity | null {
  try {
    const stat = readFileSync(`/proc/${id}/stat`, "utf8");
    const [state = "", ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [threads, , startTime = null] = fields.slice(16);
    // Threads that have not ended yet have the files and the locks, also when the first one of all has ended.
    if (isDead(state) && Number(threads) <= 1) return null;
    const bootId = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return { pid: id, startTime, bootId };
  } catch {
    return null;
  }
}

// proc(5): what can't be read is another user's, or gone; that of a zombie is empty.
function findByProc(id: number, having: string): FoundProcess | null {
  try {
    const environ = readFileSync(`/proc/${id}/environ`, "utf8");
    if (!environ.includes(having)) return null;
    const env = Object.fromEntries(environ.split("\0").map(variable));
    const identity = identifyByProc(id);
    const argv = readFileSync(`/proc/${id}/cmdline`, "utf8").split("\0").slice(0, -1);
    return identity && { identity, argv, env };
  } catch {
    return null;
  }
}

function variable(text: string): [name: string, value: string] {
  const at = text.indexOf("=");
  return [text.slice(0, at), text.slice(at + 1)];
}

function identifyByPs(id: number): ProcessIdentity | null {
  const fields = ["-o", "stat=", "-o", "lstart="];
  const found = spawnSync(["ps", ...fields, "-p", String(id)], { stderr: "ignore" });
  const [, state = "", startTime = ""] =
    /^(\S+)\s+(.*)$/.exec(found.stdout.toString().trim()) ?? [];
  return startTime === "" || isDead(state) ? null : { pid: id, startTime, bootId: null };
}

const drawn = new Uint32Array(1);

/** How long one process waits for what another one writes, in milliseconds. */
const databaseBusyMs = 1_000;

async function openDatabase(path: string): Promise<Database> {
  // Few processes need it, and all must begin at once.
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

const plainPath = /^[\w./-]+$/;

/** By what a file is imported: its path, unless that has signs with a meaning in a URL, which takes longer to make. */
const addressOf = (path: string): string =>
  plainPath.test(path) ? path : pathToFileURL(path).href;

/** This machine. */
export const realSystem: System = {
  files,
  clock,
  sockets,
  processes,
  random: () => (fillRandom(drawn)[0] as number) / 2 ** 32,
  scatter,
  load: async (path) => (await import(addressOf(path))) as object,
  openDatabase,
};
