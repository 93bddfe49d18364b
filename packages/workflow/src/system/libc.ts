import type { dlopen as Dlopen, FFIFunction, Library, Pointer, read as Read } from "bun:ffi";
import { existsSync } from "node:fs";

// A bundle shares the worker's process: what it does to a built-in later must not reach the worker.
const { Number } = globalThis;

type Ffi = { dlopen: typeof Dlopen; read: typeof Read };

// What `bun:ffi` is made of: to load that module takes three times as long as all that is done with it here. It wraps
// each function in one that converts its arguments, which are integers here.
// https://github.com/oven-sh/bun/blob/main/src/js/bun/ffi.ts
const { dlopen, read } = (Bun as unknown as { FFI: Ffi }).FFI;

// Neither Node nor Bun has flock(2), lseek(2) or dup(2). The locks of POSIX, which SQLite takes, belong to the process and
// are lost when any code in it closes the same file.
const isMac = process.platform === "darwin";
const exclusive = 2;
const nonBlocking = 4;
const interrupted = 4;
const heldByOther = isMac ? 35 : 11;
const fromEnd = 2;

// The numbers of `FFIType`.
const [i32, i64, ptr] = [5, 15, 12] as const;

type Libc = {
  flock: (fd: number, operation: number) => number;
  lseek: (fd: number, offset: number, whence: number) => number | bigint;
  dup: (fd: number) => number;
  dup2: (fd: number, other: number) => number;
  errno: () => number;
};
let libc: Libc | null = null;

/** Takes flock(2)'s exclusive lock, without waiting; false when somebody has it. */
export function lock(fd: number): boolean {
  const { flock, errno } = (libc ??= loadLibc());
  while (flock(fd, exclusive | nonBlocking) !== 0) {
    const code = errno();
    if (code === heldByOther) return false;
    if (code !== interrupted) throw failed("flock", code);
  }
  return true;
}

/** The length of an open file. Reads name their position and writes append: nobody else uses the one that this moves. */
export function length(fd: number): number {
  const { lseek, errno } = (libc ??= loadLibc());
  const end = Number(lseek(fd, 0, fromEnd));
  if (end < 0) throw failed("lseek", errno());
  return end;
}

/** Another number of an open file. */
export function duplicate(fd: number): number {
  const { dup, errno } = (libc ??= loadLibc());
  const other = dup(fd);
  if (other < 0) throw failed("dup", errno());
  return other;
}

/** Has the number of an open file name another one, which stays open under its own too. */
export function replace(fd: number, other: number): void {
  const { dup2, errno } = (libc ??= loadLibc());
  if (dup2(other, fd) < 0) throw failed("dup2", errno());
}

const failed = (call: string, code: number) =>
  Object.assign(new Error(`${call}: errno ${code}`), { errno: code });

function loadLibc(): Libc {
  const location = { args: [], returns: ptr } as const;
  const calls = {
    flock: { args: [i32, i32], returns: i32 },
    lseek: { args: [i32, i64, i32], returns: i64 },
    dup: { args: [i32], returns: i32 },
    dup2: { args: [i32, i32], returns: i32 },
  } as const;
  if (isMac) {
    const { __error, ...symbols } = open("libSystem.B.dylib", { ...calls, __error: location });
    return { ...symbols, errno: () => errnoAt(__error()) };
  }
  const { __errno_location, ...symbols } = open(libcOfLinux(), {
    ...calls,
    __errno_location: location,
  });
  return { ...symbols, errno: () => errnoAt(__errno_location()) };
}

function open<Calls extends Record<string, FFIFunction>>(path: string, calls: Calls) {
  const library: Library<Calls> | Error = dlopen(path, calls);
  if (library instanceof Error) throw library;
  return library.symbols;
}

const errnoAt = (location: unknown): number => read.i32(location as Pointer, 0);

// That of musl has the machine in its name.
function libcOfLinux(): string {
  const musl = `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`;
  return existsSync(`/lib/${musl}`) || existsSync(`/usr/lib/${musl}`) ? musl : "libc.so.6";
}
