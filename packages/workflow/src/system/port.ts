import { constants } from "node:fs";

/*
 * Everything through which the product touches the world: files, locks, sockets, clocks, chance, processes and
 * the modules of bundles. What drives, records and observes threads reaches them here and nowhere else, so
 * that a simulator can put a disk, a scheduler and faults of its own in their place.
 *
 * S1 errors are the system's: they have a `code` such as `ENOSPC`. S2 what has no `Promise` in its type is done on
 * return. S3 no function needs its `this`.
 */

/** The flags of open(2). */
export const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } =
  constants;

/** The variables of an environment by their names; one that is undefined is not there. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What is used of stat(2). */
export type FileStat = {
  readonly size: number;
  readonly nlink: number;
  readonly ino: number;
  readonly uid: number;
  readonly mode: number;
  readonly mtimeMs: number;
  /** When the name, owner, mode or content changed last: no program can set it. */
  readonly ctimeMs: number;
  /** When the file was made; 0 where the system does not know. */
  readonly birthtimeMs: number;
  isFile(): boolean;
  isDirectory(): boolean;
  isSocket(): boolean;
  isSymbolicLink(): boolean;
};

/** The file system. Writes are where the system keeps them until they are synced, and names until their folder is. */
export type Files = {
  /** Opens a file, or a folder for reading; one that is created has the mode 0600. */
  open(path: string, flags: number): number;
  /** Closes it, and with it drops its lock. */
  close(fd: number): void;
  /** Reads into a buffer from `from` on, at a position of the file; gives how many bytes, 0 at its end. */
  read(fd: number, buffer: Uint8Array, from: number, position: number): number;
  /** Writes the bytes from `from` on, or some of them, at the end of the file; gives how many. */
  write(fd: number, bytes: Uint8Array, from: number): number;
  truncate(fd: number, size: number): void;
  sync(fd: number): void;
  /** Syncs the bytes and what is needed to read them: fdatasync(2). */
  syncData(fd: number): void;
  /** As `syncData`, on another thread of the system's. */
  syncDataLater(fd: number): Promise<void>;
  /** Takes flock(2)'s exclusive lock of an open file, without waiting; false when somebody has it. */
  lock(fd: number): boolean;
  statOpen(fd: number): FileStat;
  /** What a path leads to; null when it leads nowhere. */
  stat(path: string): FileStat | null;
  /** What is at a path, a symbolic link itself; null when nothing is. */
  statLink(path: string): FileStat | null;
  /** Whether a path leads to something; false also when that can't be found out. */
  exists(path: string): boolean;
  /** The names in a folder, in no order. */
  list(folder: string): string[];
  rename(from: string, to: string): void;
  /** Removes a file; one that is not there is removed. */
  remove(path: string): void;
  /** Removes an empty folder. */
  removeFolder(folder: string): void;
  /** Removes a folder with all that is in it; one that is not there is removed. */
  removeTree(folder: string): void;
  /** Makes a folder, and those above it, mode 0700; gives the first that was missing, undefined when none was. */
  makeFolder(folder: string): string | undefined;
  /** Makes what was created, renamed or removed in a folder survive a loss of power. */
  syncFolder(folder: string): void;
  /** Calls back when a file changes, or what is in a folder, then with its name where the system gives one. */
  watch(path: string, onChange: (name: string) => void, onError: () => void): { close(): void };
};

export type Clock = {
  /** Milliseconds since the epoch. Somebody may set it. */
  now(): number;
  /** Milliseconds that have passed since some moment. Nobody sets it. */
  elapsed(): number;
  /** Acts once, after so many milliseconds, unless the function that it returns is called before. */
  after(ms: number, act: () => void): () => void;
  sleep(ms: number): Promise<void>;
  /** Blocks the whole process. */
  sleepSync(ms: number): void;
  /** Resolves when timers, sockets and signals have had their turn. */
  turn(): Promise<void>;
};

export type SocketRequest = { method: string; path: string; body?: string };
export type SocketResponse = { status: number; body: string };

/**
 * What came of a request: its response; nobody listens, and it had no effect; who listens did not answer in time;
 * or the connection was lost, and nobody knows.
 */
export type SocketOutcome =
  | { kind: "response"; response: SocketResponse }
  | { kind: "nobody" }
  | { kind: "silent" }
  | { kind: "lost"; error: unknown };

/** Unix sockets, by their whole path, however long it is. */
export type Sockets = {
  /** Answers requests until the process ends. `answer` never rejects. The path must be free. */
  listen(path: string, answer: (request: SocketRequest) => Promise<SocketResponse>): void;
  /** Sends one request. The outcome is `silent` when no response has come after `timeoutMs`. */
  request(path: string, request: SocketRequest, timeoutMs: number): Promise<SocketOutcome>;
};

/** A process that can't be taken for a later one with the same pid. */
export type ProcessIdentity = { pid: number; startTime: string | null; bootId: string | null };

/** A process that was started here. */
export type Child = {
  readonly pid: number;
  readonly exitCode: number | null;
  readonly signalCode: string | number | null;
};

/** What a worker begins in: its folder, its environment, and an open file for what it prints. */
export type WorkerSurroundings = { folder: string; env: Record<string, string>; output: number };

/** A process with what it was started as. */
export type FoundProcess = {
  identity: ProcessIdentity;
  argv: string[];
  env: Record<string, string>;
};

/** What a program that has ended has put out. */
export type RunEnd = { exitCode: number; output: string; error: string };

export type Processes = {
  /** This one's. */
  readonly pid: number;
  /** What systemd or D-Bus names this machine; empty where neither does. */
  machineId(): string;
  /** The processes that were started with one of these values of a variable; none where that can't be seen. */
  withVariable(name: string, values: ReadonlySet<string>): FoundProcess[];
  /**
   * Whether this process, an ancestor of it or the first process of its PID namespace was started with a variable, or an
   * ancestor has one of these pids. What can't be seen is left out.
   */
  comesFrom(name: string, pids: ReadonlySet<number>): boolean;
  /** Sends a signal to a process that is still the same. */
  signal(identity: ProcessIdentity, signal: "SIGTERM" | "SIGKILL"): void;
  /** Who the process with this pid is; null when there is none. */
  identify(pid: number): ProcessIdentity | null;
  /** Starts the worker's program as a process and a group of its own. */
  startWorker(args: readonly string[], surroundings: WorkerSurroundings): Child;
  /** Runs a program to its end, in this process's environment; null when there is none of this name. */
  run(
    argv: readonly string[],
    input: string,
    /** Further variables of its environment. */
    variables?: Readonly<Record<string, string>>,
  ): Promise<RunEnd | null>;
  /** Kills a process and the group that it leads. */
  kill(pid: number): void;
  /** Acts when this process is asked to end. */
  onStop(act: () => void): void;
  /** Ends this process. */
  exit(code: number): never;
};

export type Column = string | number | null;

/** A file of SQLite's: what it holds can be made again, and is never the truth. */
export type Database = {
  /** Executes statements without values. */
  run(statements: string): void;
  /** Executes one statement and gives its rows, as they are read. */
  rows<Row>(statement: string, ...values: Column[]): Iterable<Row>;
  /** Makes all changes of a function at once, or none of them. */
  atOnce(change: () => void): void;
  close(): void;
};

export type System = {
  readonly files: Files;
  readonly clock: Clock;
  readonly sockets: Sockets;
  readonly processes: Processes;
  /** A number from 0 on and below 1. Two processes never draw the same sequence. */
  random(): number;
  /** Loads the module of a file: its top level runs. */
  load(path: string): Promise<object>;
  /** Opens a database, which is made if it is not there; null where there are none. */
  openDatabase(path: string): Promise<Database | null>;
};
