import type { Stats } from "node:fs";
import { withResolvers } from "../contract/intrinsics.ts";
import { length, lock } from "./libc.ts";
import { type Files, O_RDONLY } from "./port.ts";

// A bundle shares the worker's process: what it does to a built-in later must not reach the worker.
const builtIn = process.getBuiltinModule.bind(process);
const Promises: { then: unknown } = Promise.prototype;
const { then } = Promises;

const absent = { throwIfNoEntry: false } as const;

/** The files of any system by `node:fs`, which is loaded only when this is called. */
export function nodeFiles(): Files {
  const fs = builtIn("node:fs");
  const { closeSync, existsSync, fdatasyncSync, fstatSync, fsyncSync, ftruncateSync } = fs;
  const { lstatSync, mkdirSync, openSync, readdirSync, readSync, renameSync, rmdirSync } = fs;
  const { rmSync, statSync, watch, writeSync } = fs;
  const { S_IFMT, S_IFREG } = fs.constants;
  function isPlain(this: Stats): boolean {
    return (this.mode & S_IFMT) === S_IFREG;
  }
  return {
    open: (path, flags) => openSync(path, flags, 0o600),
    close: closeSync,
    read: (fd, buffer, from, position) =>
      readSync(fd, buffer, from, buffer.length - from, position),
    write: (fd, bytes, from) => writeSync(fd, bytes, from),
    truncate: ftruncateSync,
    sync: fsyncSync,
    syncData: fdatasyncSync,
    syncDataLater: (fd) => syncOnPool(fd, fdatasyncSync),
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
      watch(path, { persistent: false }, (_event, name) => onChange(name ?? "")).on(
        "error",
        onError,
      ),
  };
}

type Sync = (fd: number, done: (error: unknown) => void) => void;
let fdatasync: Sync | null = null;

/** Keeps what of `node:fs` is used later as it is now. It takes milliseconds to load: only before somebody can replace it. */
export function keepNodeFiles(): void {
  fdatasync ??= builtIn("node:fs").fdatasync as Sync;
}

/** Syncs the bytes of a file on a thread of the runtime's pool; by `syncData`, on the spot, where that could not answer. */
export function syncOnPool(fd: number, syncData: (fd: number) => void): Promise<void> {
  keepNodeFiles();
  const { promise, resolve, reject } = withResolvers<void>();
  // Bun calls back by way of the `then` that there is. Not promisify: node:util takes milliseconds to load.
  if (Promises.then === then) fdatasync?.(fd, (error) => (error ? reject(error) : resolve()));
  else {
    syncData(fd);
    resolve();
  }
  return promise;
}
