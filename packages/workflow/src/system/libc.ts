import { encodeText, lengthOf, uncurried } from "../contract/intrinsics.ts";
import type { dlopen as Dlopen, FFIFunction, Pointer, ptr as Ptr, read as Read } from "bun:ffi";

// A bundle shares the worker's process: what it does to a built-in later must not reach the worker.
const { Error } = globalThis;
/** As many bytes, of any value. */
export const allocate: (bytes: number) => Uint8Array = Buffer.allocUnsafeSlow.bind(Buffer);
const indexOf = uncurried(String.prototype, "indexOf");
const setBytes = uncurried(Uint8Array.prototype, "set");
/** The text that bytes are, from a position on and before another one. */
export const utf8Of = uncurried(Buffer.prototype, "utf8Slice" as "toString") as unknown as Slice;

type Slice = (bytes: Uint8Array, from: number, to: number) => string;
type Ffi = { dlopen: typeof Dlopen; read: typeof Read; ptr: typeof Ptr };

// What `bun:ffi` is made of: to load that module takes three times as long as all that is done with it here. It wraps
// each function in one that converts its arguments, which are integers and bytes here.
// https://github.com/oven-sh/bun/blob/main/src/js/bun/ffi.ts
const ffi = (Bun as unknown as { FFI: Ffi }).FFI;
const { dlopen } = ffi;
const { i32: integerAt } = ffi.read;
/**
 * Where the bytes of a view are in memory, from an offset on. It is asked for in the function that makes the call, which may
 * be made again: until then the view is in use, and not collected.
 */
export const addressOf = ffi.ptr as (bytes: Uint8Array, offset: number) => number;

const isMac = process.platform === "darwin";
const exclusive = 2;
const nonBlocking = 4;
const missing = 2;
const interrupted = 4;
const invalid = 22;
const heldByOther = isMac ? 35 : 11;
const fromEnd = 2;
// That of musl has the machine in its name.
const names = isMac
  ? ["libSystem.B.dylib"]
  : ["libc.so.6", `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`];

// The numbers of `FFIType`. Bytes are given where a pointer is asked for.
const [i32, i64, pointer] = [5, 15, 12] as const;

// Neither Node nor Bun has flock(2), lseek(2) or dup(2). The locks of POSIX, which SQLite takes, belong to the process and
// are lost when any code in it closes the same file.
const everywhere = {
  flock: { args: [i32, i32], returns: i32 },
  lseek: { args: [i32, i64, i32], returns: i64 },
  dup: { args: [i32], returns: i32 },
  dup2: { args: [i32, i32], returns: i32 },
  read: { args: [i32, pointer, i64], returns: i64 },
  write: { args: [i32, pointer, i64], returns: i64 },
  close: { args: [i32], returns: i32 },
  isatty: { args: [i32], returns: i32 },
  symlink: { args: [pointer, pointer], returns: i32 },
} as const;

/** What has the same form on each machine that runs Linux, and another one elsewhere. */
const ofLinux = {
  open: { args: [pointer, i32, i32], returns: i32 },
  pread: { args: [i32, pointer, i64, i64], returns: i64 },
  ftruncate: { args: [i32, i64], returns: i32 },
  fsync: { args: [i32], returns: i32 },
  fdatasync: { args: [i32], returns: i32 },
  access: { args: [pointer, i32], returns: i32 },
  rename: { args: [pointer, pointer], returns: i32 },
  unlink: { args: [pointer], returns: i32 },
  rmdir: { args: [pointer], returns: i32 },
  mkdir: { args: [pointer, i32], returns: i32 },
  statx: { args: [i32, pointer, i32, i32, pointer], returns: i32 },
  getdents64: { args: [i32, pointer, i64], returns: i64 },
} as const;

type Call = (...args: (number | Uint8Array)[]) => number;
type Calls<Signatures> = Record<keyof Signatures, Call>;
type Libc = Calls<typeof everywhere> & { linux: LinuxCalls | null; errno: () => number };
export type LinuxCalls = Calls<typeof ofLinux>;

/** The errors that files, pipes and locks are known to give, by their numbers on Linux: errno(3). */
const errors: Readonly<Record<number, readonly [code: string, message: string]>> = {
  1: ["EPERM", "operation not permitted"],
  2: ["ENOENT", "no such file or directory"],
  5: ["EIO", "i/o error"],
  6: ["ENXIO", "no such device or address"],
  9: ["EBADF", "bad file descriptor"],
  11: ["EAGAIN", "resource temporarily unavailable"],
  12: ["ENOMEM", "not enough memory"],
  13: ["EACCES", "permission denied"],
  16: ["EBUSY", "resource busy or locked"],
  17: ["EEXIST", "file already exists"],
  18: ["EXDEV", "cross-device link not permitted"],
  19: ["ENODEV", "no such device"],
  20: ["ENOTDIR", "not a directory"],
  21: ["EISDIR", "illegal operation on a directory"],
  22: ["EINVAL", "invalid argument"],
  23: ["ENFILE", "file table overflow"],
  24: ["EMFILE", "too many open files"],
  26: ["ETXTBSY", "text file is busy"],
  27: ["EFBIG", "file too large"],
  28: ["ENOSPC", "no space left on device"],
  29: ["ESPIPE", "invalid seek"],
  30: ["EROFS", "read-only file system"],
  31: ["EMLINK", "too many links"],
  32: ["EPIPE", "broken pipe"],
  36: ["ENAMETOOLONG", "name too long"],
  37: ["ENOLCK", "no locks available"],
  38: ["ENOSYS", "function not implemented"],
  39: ["ENOTEMPTY", "directory not empty"],
  40: ["ELOOP", "too many symbolic links encountered"],
  75: ["EOVERFLOW", "value too large for defined data type"],
  95: ["ENOTSUP", "operation not supported on socket"],
  116: ["ESTALE", "stale file handle"],
  122: ["EDQUOT", "disk quota exceeded"],
};
/** The number on Linux of what has another one on macOS; 0 where Linux has an error of that number which macOS has not. */
const onLinux: Readonly<Record<number, number>> = {
  ...{ 11: 0, 35: 11, 36: 0, 37: 0, 38: 0, 39: 0, 40: 0, 45: 95, 62: 40, 63: 36, 66: 39 },
  ...{ 69: 122, 70: 116, 75: 0, 77: 37, 78: 38, 84: 75 },
};

/** What a call of the system failed with, as Node says it: `ENOENT: no such file or directory, open '/none'`. */
export class SystemError extends Error {
  readonly code: string;
  /** The number of the error, below zero. */
  readonly errno: number;
  readonly syscall: string;
  readonly path: string | undefined;

  constructor(syscall: string, number: number, path?: string) {
    const known = errors[isMac ? (onLinux[number] ?? number) : number];
    const [code, message] = known ?? ["UNKNOWN", `errno ${number}`];
    super(`${code}: ${message}, ${syscall}${path === undefined ? "" : ` '${path}'`}`);
    this.code = code;
    this.errno = -number;
    this.syscall = syscall;
    this.path = path;
  }
}

let libc: Libc | null = null;
const loaded = (): Libc => (libc ??= loadLibc());

/** Takes flock(2)'s exclusive lock, without waiting; false when somebody has it. */
export function lock(fd: number): boolean {
  const { flock, errno } = loaded();
  while (flock(fd, exclusive | nonBlocking) !== 0) {
    const code = errno();
    if (code === heldByOther) return false;
    if (code !== interrupted) throw new SystemError("flock", code);
  }
  return true;
}

/** The length of an open file. Reads name their position and writes append: nobody else uses the one that this moves. */
export const length = (fd: number): number => made("lseek", () => loaded().lseek(fd, 0, fromEnd));

/** Another number of an open file. */
export const duplicate = (fd: number): number => made("dup", () => loaded().dup(fd));

/** Has the number of an open file name another one, which stays open under its own too. */
export const replace = (fd: number, other: number): void =>
  void made("dup2", () => loaded().dup2(other, fd));

/** Reads an open file or a pipe to its end, as UTF-8, and waits for it. */
export function readText(fd: number): string {
  let bytes = allocate(4096);
  let end = 0;
  for (;;) {
    const read = readInto(fd, bytes, end);
    if (read === 0) return utf8Of(bytes, 0, end);
    end += read;
    if (end < lengthOf(bytes)) continue;
    const longer = allocate(end * 4);
    setBytes(longer, bytes);
    bytes = longer;
  }
}

const readInto = (fd: number, bytes: Uint8Array, from: number): number =>
  made("read", () => loaded().read(fd, addressOf(bytes, from), lengthOf(bytes) - from));

/** Writes the bytes from `from` on, or some of them; gives how many. */
export function write(fd: number, bytes: Uint8Array, from: number): number {
  const rest = lengthOf(bytes) - from;
  if (rest === 0) return 0;
  return made("write", () => loaded().write(fd, addressOf(bytes, from), rest));
}

/** Whether an open file is a terminal: node:tty takes longer to load than a whole command. */
export const isTerminal = (fd: number): boolean => loaded().isatty(fd) === 1;

/** Has a path lead to another one. */
export function link(to: string, path: string): void {
  const target = textOfC(to);
  const text = textOfC(path);
  made("symlink", () => loaded().symlink(target, text), path);
}

/** A path as C has it. @throws SystemError where C would see the end of it before its end. */
export function textOfC(path: string): Uint8Array {
  if (indexOf(path, "\0") >= 0) throw new SystemError("path", invalid, path);
  return encodeText(`${path}\0`);
}

/** Closes an open file. */
export function close(fd: number): void {
  // Also when it was interrupted it is closed: to do it again might close what somebody else has opened since.
  if (loaded().close(fd) !== 0 && loaded().errno() !== interrupted)
    throw new SystemError("close", loaded().errno());
}

/**
 * Makes a call, again when a signal has interrupted it.
 * @throws SystemError when it gives a number below zero.
 */
export function made(syscall: string, call: () => number, path?: string): number {
  const result = madeIfThere(syscall, call, path);
  if (result === null) throw new SystemError(syscall, missing, path);
  return result;
}

/** As {@link made}; null when there is nothing at the path: to make an error and to catch it takes longer than the call. */
export function madeIfThere(syscall: string, call: () => number, path?: string): number | null {
  for (;;) {
    const result = call();
    if (result >= 0) return result;
    const number = loaded().errno();
    if (number === missing) return null;
    if (number !== interrupted) throw new SystemError(syscall, number, path);
  }
}

/** The calls of Linux; null elsewhere, and where its libc is older than one of them. */
export const linuxCalls = (): LinuxCalls | null => loaded().linux;

function loadLibc(): Libc {
  const location = isMac ? "__error" : "__errno_location";
  const calls = { ...everywhere, [location]: { args: [], returns: pointer } } as const;
  const all = isMac ? null : symbolsOf({ ...calls, ...ofLinux });
  const symbols = all ?? symbolsOf(calls);
  if (symbols === null) throw new Error("the libc of this system was not found");
  const locate = symbols[location] as unknown as () => Pointer;
  return {
    ...(symbols as Calls<typeof everywhere>),
    linux: all && (symbols as LinuxCalls),
    errno: () => integerAt(locate(), 0),
  };
}

function symbolsOf(calls: Record<string, FFIFunction>): Record<string, Call> | null {
  for (const name of names) {
    const library: ReturnType<typeof dlopen> | Error = dlopen(name, calls);
    if (!(library instanceof Error)) return library.symbols as unknown as Record<string, Call>;
  }
  return null;
}
