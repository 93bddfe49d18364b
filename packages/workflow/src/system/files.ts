import {
  closeSync,
  existsSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  watch,
  writeSync,
} from "node:fs";
import { promisify } from "node:util";
import { lock } from "./lock.ts";
import { type Files, O_RDONLY } from "./port.ts";

const absent = { throwIfNoEntry: false } as const;
const syncDataLater = promisify(fdatasync);

/**
 * The files of this machine. The functions of `node:fs` are bound when this module is loaded, before any bundle: a
 * bundle that replaces them, as mocks do, does not change its worker's writes.
 */
export const files: Files = {
  open: (path, flags) => openSync(path, flags, 0o600),
  close: closeSync,
  read: (fd, buffer, from, position) => readSync(fd, buffer, from, buffer.length - from, position),
  write: (fd, bytes, from) => writeSync(fd, bytes, from),
  truncate: ftruncateSync,
  sync: fsyncSync,
  syncData: fdatasyncSync,
  syncDataLater,
  lock,
  statOpen: (fd) => fstatSync(fd),
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
  watch: watchFile,
};

/**
 * In milliseconds. Bun drops a change that follows another change of the same file within 2 ms (oven-sh/bun:
 * PathWatcher).
 */
const dropsWithinMs = 4;

/** Reports each change a second time shortly afterwards, because Bun may have dropped a second change. */
function watchFile(path: string, onChange: (name: string) => void, onError: () => void) {
  const again = new Map<string, ReturnType<typeof setTimeout>>();
  const watcher = watch(path, { persistent: false }, (_event, given) => {
    const name = given ?? "";
    clearTimeout(again.get(name));
    const report = () => {
      again.delete(name);
      onChange(name);
    };
    again.set(name, setTimeout(report, dropsWithinMs).unref());
    onChange(name);
  }).on("error", onError);
  return {
    close() {
      for (const timer of again.values()) clearTimeout(timer);
      again.clear();
      watcher.close();
    },
  };
}
