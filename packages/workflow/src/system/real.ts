import { dlopen, FFIType, type Pointer, read } from "bun:ffi";
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
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import {
  type Clock,
  type Column,
  type Database,
  type Files,
  O_RDONLY,
  type Processes,
  type ProcessIdentity,
  type SocketOutcome,
  type SocketRequest,
  type Sockets,
  type System,
} from "./port.ts";

// A bundle shares the worker's process: what it does to a built-in later must not reach the worker.
const { now } = Date;
const { pid } = process;
const exit = process.exit.bind(process);
const kill = process.kill.bind(process);
const chdir = process.chdir.bind(process);
const onSignal: (signal: NodeJS.Signals, act: () => void) => void = process.on.bind(process);
const { setTimeout, clearTimeout, setImmediate, fetch, Number, Response, URL } = globalThis;
const monotonic = performance.now.bind(performance);
const { serve, sleep, sleepSync, spawn, spawnSync, pathToFileURL, fileURLToPath } = Bun;
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

// Neither Node nor Bun has flock(2) or lseek(2). The locks of POSIX, which SQLite takes, belong to the process and
// are lost when any code in it closes the same file.
const isMac = process.platform === "darwin";
const exclusive = 2;
const nonBlocking = 4;
const interrupted = 4;
const heldByOther = isMac ? 35 : 11;
const fromEnd = 2;

type Libc = {
  flock: (fd: number, operation: number) => number;
  lseek: (fd: number, offset: number, whence: number) => number | bigint;
  errno: () => number;
};
let libc: Libc | null = null;

function lock(fd: number): boolean {
  const { flock, errno } = (libc ??= loadLibc());
  while (flock(fd, exclusive | nonBlocking) !== 0) {
    const code = errno();
    if (code === heldByOther) return false;
    if (code !== interrupted) throw failed("flock", code);
  }
  return true;
}

// Reads name their position and writes append, so that nobody else uses the one that this moves.
function length(fd: number): number {
  const { lseek, errno } = (libc ??= loadLibc());
  const end = Number(lseek(fd, 0, fromEnd));
  if (end < 0) throw failed("lseek", errno());
  return end;
}

const failed = (call: string, code: number) =>
  Object.assign(new Error(`${call}: errno ${code}`), { errno: code });

function loadLibc(): Libc {
  const { i32, i64_fast: i64, ptr } = FFIType;
  const location = { args: [], returns: ptr } as const;
  const calls = {
    flock: { args: [i32, i32], returns: i32 },
    lseek: { args: [i32, i64, i32], returns: i64 },
  } as const;
  if (isMac) {
    const { symbols } = dlopen("libSystem.B.dylib", { ...calls, __error: location });
    return { ...symbols, errno: () => errnoAt(symbols.__error()) };
  }
  const { symbols } = dlopen(libcOfLinux(), { ...calls, __errno_location: location });
  return { ...symbols, errno: () => errnoAt(symbols.__errno_location()) };
}

const errnoAt = (location: unknown): number => read.i32(location as Pointer, 0);

// That of musl has the machine in its name.
function libcOfLinux(): string {
  const musl = `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`;
  return ["/lib", "/usr/lib"].some((folder) => existsSync(`${folder}/${musl}`))
    ? musl
    : "libc.so.6";
}

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
  },
  async request(path, request, timeoutMs) {
    if (Buffer.byteLength(path) <= longestSocketPath) return await send(path, request, timeoutMs);
    const folder = makeTemporary();
    try {
      symlinkSync(dirname(path), join(folder, "r"));
      return await send(join(folder, "r", basename(path)), request, timeoutMs);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

function makeTemporary(): string {
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

// Bun would run what a bunfig.toml names and read an .env file of the folder that it starts in.
const bunFlags = ["--no-env-file", "--no-install", "--config=/dev/null"];
const workerEntry = import.meta.url.endsWith(".ts") ? "../worker/main.ts" : "./worker.js";

const processes: Processes = {
  pid,
  identify: process.platform === "linux" ? identifyByProc : identifyByPs,
  startWorker(args, { folder, env, output }) {
    const entry = fileURLToPath(new URL(workerEntry, import.meta.url));
    const child = spawn([process.execPath, ...bunFlags, entry, ...args], {
      cwd: folder,
      env,
      stdio: ["ignore", output, output],
      detached: true,
    });
    child.unref();
    return child;
  },
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
function identifyByProc(id: number): ProcessIdentity | null {
  try {
    const stat = readFileSync(`/proc/${id}/stat`, "utf8");
    const startTime = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? null;
    const bootId = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return { pid: id, startTime, bootId };
  } catch {
    return null;
  }
}

function identifyByPs(id: number): ProcessIdentity | null {
  const found = spawnSync(["ps", "-o", "lstart=", "-p", String(id)], { stderr: "ignore" });
  const startTime = found.stdout.toString().trim();
  return startTime === "" ? null : { pid: id, startTime, bootId: null };
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

/** This machine. */
export const realSystem: System = {
  files,
  clock,
  sockets,
  processes,
  random: () => (fillRandom(drawn)[0] as number) / 2 ** 32,
  load: async (path) => (await import(pathToFileURL(path).href)) as object,
  openDatabase,
};
