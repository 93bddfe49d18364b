import { dlopen, FFIType, type Pointer, read } from "bun:ffi";

/*
 * flock(2) through FFI, because neither Node nor Bun offers it. POSIX locks are not an alternative: they belong to the
 * process, and closing any other descriptor of the same file releases them.
 */

const isMac = process.platform === "darwin";
const LOCK_EX = 2;
const LOCK_NB = 4;

type Failure = { code: string; message: string };

const failures: Readonly<Record<number, Failure>> = {
  9: { code: "EBADF", message: "bad file descriptor" },
  12: { code: "ENOMEM", message: "not enough memory" },
  22: { code: "EINVAL", message: "invalid argument" },
  ...(isMac
    ? { 45: { code: "ENOTSUP", message: "operation not supported" } }
    : {
        37: { code: "ENOLCK", message: "no locks available" },
        38: { code: "ENOSYS", message: "function not implemented" },
        95: { code: "ENOTSUP", message: "operation not supported" },
      }),
};
const EINTR = 4;
const EWOULDBLOCK = isMac ? 35 : 11;

type Libc = { flock(fd: number, operation: number): number; errno(): number };

let libc: Libc | null = null;

/**
 * Acquires the exclusive flock(2) lock of an open file without waiting. Returns false when another descriptor holds it.
 * @throws Error with a `code` such as `ENOLCK` when the file system has no locks.
 */
export function lock(fd: number): boolean {
  libc ??= loadLibc();
  while (libc.flock(fd, LOCK_EX | LOCK_NB) !== 0) {
    const errno = libc.errno();
    if (errno === EWOULDBLOCK) return false;
    if (errno === EINTR) continue;
    const { code, message } = failures[errno] ?? { code: "UNKNOWN", message: `errno ${errno}` };
    throw Object.assign(new Error(`${code}: ${message}, flock`), { code, syscall: "flock" });
  }
  return true;
}

function loadLibc(): Libc {
  const location = isMac ? "__error" : "__errno_location";
  const signatures = {
    flock: { args: [FFIType.i32, FFIType.i32], returns: FFIType.i32 },
    [location]: { args: [], returns: FFIType.ptr },
  } as const;
  // The file name of the musl library contains the architecture.
  const musl = `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`;
  const names = isMac ? ["libSystem.B.dylib"] : ["libc.so.6", musl];
  let cause: unknown;
  for (const name of names) {
    try {
      const { symbols } = dlopen(name, signatures);
      const errnoAt = symbols[location] as () => Pointer;
      return { flock: symbols.flock, errno: () => read.i32(errnoAt(), 0) };
    } catch (error) {
      cause = error;
    }
  }
  throw new Error(`can't load ${names.join(" or ")} for flock`, { cause });
}
