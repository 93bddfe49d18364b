import { constants } from "node:fs";

/*
 * The operating system: files, locks, sockets, clocks, random numbers, processes and module loading. Engine, log and
 * host use it only through this interface, so a simulator can provide another disk, another scheduler and faults.
 *
 * S1 Errors are system errors: they have a `code` such as `ENOSPC`.
 * S2 A function that does not return a `Promise` has finished on return.
 * S3 Every function works without its `this`.
 */

/** The flags of open(2). */
export const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } =
  constants;

/** Environment variables by name. Undefined means unset. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Fields of stat(2). */
export type FileStat = {
  readonly size: number;
  readonly nlink: number;
  readonly ino: number;
  readonly uid: number;
  readonly mode: number;
  readonly mtimeMs: number;
  /** Time of the last change of name, owner, mode or content. Programs can't set it. */
  readonly ctimeMs: number;
  /** Creation time; 0 when the system does not record it. */
  readonly birthtimeMs: number;
  isFile(): boolean;
  isDirectory(): boolean;
  isSocket(): boolean;
  isSymbolicLink(): boolean;
};

/** The file system. A write is durable after a sync of the file, a name after a sync of its folder. */
export type Files = {
  /** Opens a file, or a folder for reading. Creates files with mode 0600. */
  open(path: string, flags: number): number;
  /** Closes the file and releases its lock. */
  close(fd: number): void;
  /** Reads at a position of the file into `buffer`, from index `from`. Returns the number of bytes, 0 at the end. */
  read(fd: number, buffer: Uint8Array, from: number, position: number): number;
  /** Appends bytes from index `from`, possibly only some of them. Returns the number of written bytes. */
  write(fd: number, bytes: Uint8Array, from: number): number;
  truncate(fd: number, size: number): void;
  sync(fd: number): void;
  /** Syncs the bytes and the metadata needed to read them: fdatasync(2). */
  syncData(fd: number): void;
  /** Like `syncData`, on another system thread. */
  syncDataLater(fd: number): Promise<void>;
  /**
   * Acquires the exclusive flock(2) lock of an open file without waiting. Returns false when another descriptor holds
   * it.
   */
  lock(fd: number): boolean;
  statOpen(fd: number): FileStat;
  /** Reads the fields of a path, and follows symbolic links. Null when the path does not exist. */
  stat(path: string): FileStat | null;
  /** Reads the fields of a path, and does not follow a symbolic link. Null when the path does not exist. */
  statLink(path: string): FileStat | null;
  /** Whether a path exists. False on errors. */
  exists(path: string): boolean;
  /** Lists the names in a folder, unordered. */
  list(folder: string): string[];
  rename(from: string, to: string): void;
  /** Removes a file. A missing file is not an error. */
  remove(path: string): void;
  /** Removes an empty folder. */
  removeFolder(folder: string): void;
  /** Removes a folder and its content. A missing folder is not an error. */
  removeTree(folder: string): void;
  /** Creates a folder and its parents, mode 0700. Returns the first created folder, undefined when all existed. */
  makeFolder(folder: string): string | undefined;
  /** Makes creations, renames and removals in a folder durable. */
  syncFolder(folder: string): void;
  /**
   * Calls `onChange` when a file or the content of a folder changes, with the entry's name if the system reports it.
   */
  watch(path: string, onChange: (name: string) => void, onError: () => void): { close(): void };
};

export type Clock = {
  /** Wall clock, in milliseconds since the epoch. */
  now(): number;
  /** Monotonic clock, in milliseconds. */
  elapsed(): number;
  /** Runs `act` after a timeout. Returns a cancel function. */
  after(ms: number, act: () => void): () => void;
  sleep(ms: number): Promise<void>;
  /** Blocks the whole process for `ms` milliseconds. */
  sleepSync(ms: number): void;
  /** Resolves after one turn of the event loop. */
  turn(): Promise<void>;
};

export type SocketRequest = { method: string; path: string; body?: string };
export type SocketResponse = { status: number; body: string };

/**
 * Outcome of a request: a response; no listener (the request had no effect); no response in time; or a lost connection
 * (effect unknown).
 */
export type SocketOutcome =
  | { kind: "response"; response: SocketResponse }
  | { kind: "nobody" }
  | { kind: "silent" }
  | { kind: "lost"; error: unknown };

/** Unix sockets by their whole path, of any length. */
export type Sockets = {
  /** Answers requests until the process ends. `answer` never rejects. The path must be free. */
  listen(path: string, answer: (request: SocketRequest) => Promise<SocketResponse>): void;
  /** Sends one request. The outcome is `silent` when no response has come after `timeoutMs`. */
  request(path: string, request: SocketRequest, timeoutMs: number): Promise<SocketOutcome>;
};

/** A process identity that a later process with the same pid does not have. */
export type ProcessIdentity = { pid: number; startTime: string | null; bootId: string | null };

/** A child process. */
export type Child = {
  readonly pid: number;
  readonly exitCode: number | null;
  readonly signalCode: string | number | null;
};

/** Working folder, environment and open output file of a new worker. */
export type WorkerSurroundings = { folder: string; env: Record<string, string>; output: number };

/** A process with its arguments and environment. */
export type FoundProcess = {
  identity: ProcessIdentity;
  argv: string[];
  env: Record<string, string>;
};

/** Exit code and output of a program. */
export type RunEnd = { exitCode: number; output: string; error: string };

export type Processes = {
  /** Pid of this process. */
  readonly pid: number;
  /** Machine id of systemd or D-Bus; empty if there is none. */
  machineId(): string;
  /**
   * Returns the processes whose environment has one of these values of a variable; empty if environments are
   * unreadable.
   */
  withVariable(name: string, values: ReadonlySet<string>): FoundProcess[];
  /**
   * Whether this process, an ancestor or the first process of its PID namespace was started with a variable, or an
   * ancestor has one of these pids. Unreadable processes are skipped.
   */
  comesFrom(name: string, pids: ReadonlySet<number>): boolean;
  /** Sends a signal to a process unless its pid was reused. */
  signal(identity: ProcessIdentity, signal: "SIGTERM" | "SIGKILL"): void;
  /** Identity of the process with this pid; null when there is none. */
  identify(pid: number): ProcessIdentity | null;
  /** Starts the worker program in its own process group. */
  startWorker(args: readonly string[], surroundings: WorkerSurroundings): Child;
  /** Runs a program to its end in this process's environment; null when the program is not found. */
  run(
    argv: readonly string[],
    input: string,
    /** Further variables of its environment. */
    variables?: Readonly<Record<string, string>>,
  ): Promise<RunEnd | null>;
  /** Kills a process and the group that it leads. */
  kill(pid: number): void;
  /** Runs `act` when this process gets a termination signal. */
  onStop(act: () => void): void;
  /** Ends this process. */
  exit(code: number): never;
};

export type Column = string | number | null;

/** An SQLite file. It is a cache: its content can be rebuilt from the logs. */
export type Database = {
  /** Executes statements without values. */
  run(statements: string): void;
  /** Executes one statement and yields its rows as they are read. */
  rows<Row>(statement: string, ...values: Column[]): Iterable<Row>;
  /** Runs a function in a transaction. */
  atOnce(change: () => void): void;
  close(): void;
};

export type System = {
  readonly files: Files;
  readonly clock: Clock;
  readonly sockets: Sockets;
  readonly processes: Processes;
  /** Random number in [0, 1). The sequences of two processes differ. */
  random(): number;
  /** Imports a module file. */
  load(path: string): Promise<object>;
  /** Opens or creates a database; null where SQLite is not available. */
  openDatabase(path: string): Promise<Database | null>;
};
