import {
  closeSync,
  constants,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  fsyncSync,
  renameSync,
  writeSync,
} from "node:fs";
import { syncDir } from "../storage/atomic.ts";
import { openOwnFile } from "../storage/read.ts";

/** What a log needs of a disk. A test puts one in that fails, or dies, at a chosen call. */
export type Disk = {
  /** Opens a file of ours for appending; `fresh` makes it and fails when it is there. */
  open(path: string, fresh: boolean): number;
  /** Writes some of the bytes and says how many. */
  write(fd: number, bytes: Uint8Array, from: number): number;
  sync(fd: number): void;
  syncLater(fd: number): Promise<void>;
  /** The length of the file, which must be a plain file with one name. */
  size(fd: number): number;
  truncate(fd: number, size: number): void;
  rename(from: string, to: string): void;
  syncDir(folder: string): void;
  close(fd: number): void;
};

const { O_APPEND, O_CREAT, O_EXCL, O_WRONLY } = constants;
// Not promisify: node:util takes milliseconds to load.
function fdatasyncLater(fd: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fdatasync(fd, (error) => (error ? reject(error) : resolve()));
  });
}

/** The disk of this machine. */
export const realDisk: Disk = {
  open(path, fresh) {
    return openOwnFile(path, O_WRONLY | O_APPEND | (fresh ? O_CREAT | O_EXCL : 0));
  },
  write: (fd, bytes, from) => writeSync(fd, bytes, from, bytes.length - from),
  sync: fdatasyncSync,
  syncLater: fdatasyncLater,
  size(fd) {
    const found = fstatSync(fd);
    if (!found.isFile() || found.nlink !== 1) {
      throw Object.assign(new Error("not a plain file with one name"), { code: "ENXIO" });
    }
    return found.size;
  },
  truncate(fd, size) {
    ftruncateSync(fd, size);
    fsyncSync(fd);
  },
  rename: renameSync,
  syncDir,
  close: closeSync,
};
