import { dirname } from "node:path";
import { lengthOf, uncurried } from "../contract/intrinsics.ts";
import {
  addressOf,
  allocate,
  close,
  length,
  type LinuxCalls,
  linuxCalls,
  lock,
  made,
  madeIfThere,
  SystemError,
  textOfC,
  utf8Of,
  write,
} from "./libc.ts";
import { nodeFiles, syncOnPool } from "./node-files.ts";
import { type Files, type FileStat, O_NOFOLLOW, O_RDONLY } from "./port.ts";

// A bundle shares the worker's process: what it does to a built-in later must not reach the worker.
const { Uint8Array, Uint16Array, Uint32Array } = globalThis;
const indexOfByte = uncurried(Uint8Array.prototype, "indexOf");

// Their numbers are in the headers of Linux, fcntl.h and stat.h.
const closeInChildren = 0o2000000;
const onlyFolder = process.arch === "arm64" ? 0o40000 : 0o200000;
const [currentFolder, notThrough, ofDescriptor, basicStats] = [-100, 0x100, 0x1000, 0x7ff];
const [typeMask, plain, folder, socket, link] = [0xf000, 0x8000, 0x4000, 0xc000, 0xa000];

/**
 * The files of Linux by its own calls; null elsewhere, and on a Linux without one of them. To load `node:fs` takes longer
 * than all that a process does with files until its first step is on the disk; and a bundle that replaces what is in it,
 * as mocks do, reaches none of its worker's files.
 */
export function linuxFiles(): Files | null {
  const calls = linuxCalls();
  if (!calls) return null;
  // Some containers refuse statx(2), which is younger than the others.
  const refused = calls.statx(currentFolder, textOfC("/"), 0, basicStats, filledBytes);
  return refused === 0 ? filesBy(calls) : null;
}

function filesBy(calls: LinuxCalls): Files {
  const open = (path: string, flags: number): number => {
    const text = textOfC(path);
    return made("open", () => calls.open(text, flags | closeInChildren, 0o600), path);
  };
  const sync = (fd: number) => void made("fsync", () => calls.fsync(fd));
  const syncData = (fd: number) => void made("fdatasync", () => calls.fdatasync(fd));
  const stat = (syscall: string, path: string, flags: number): FileStat | null => {
    const text = textOfC(path);
    const call = () => calls.statx(currentFolder, text, flags, basicStats, filledBytes);
    return madeIfThere(syscall, call, path) === null ? null : new LinuxStat();
  };
  const list = (path: string, flags = 0): string[] => {
    const fd = open(path, O_RDONLY | onlyFolder | flags);
    try {
      return namesBy((room) => made("scandir", () => calls.getdents64(fd, room, roomBytes), path));
    } finally {
      close(fd);
    }
  };
  const remove = (path: string): void => {
    const text = textOfC(path);
    madeIfThere("unlink", () => calls.unlink(text), path);
  };
  const removeFolder = (path: string): void => {
    const text = textOfC(path);
    made("rmdir", () => calls.rmdir(text), path);
  };
  const removeTree = (path: string): void => {
    try {
      remove(path);
    } catch (error) {
      if (!isCode(error, "EISDIR")) throw error;
      // Somebody else may be removing it too.
      ifThere(() => {
        const names = list(path, O_NOFOLLOW);
        for (let n = 0; n < names.length; n += 1) removeTree(`${path}/${names[n]}`);
        removeFolder(path);
      });
    }
  };
  /** Makes a folder in one that is there; gives whether it was missing. */
  const makeOne = (path: string): boolean => {
    const text = textOfC(path);
    try {
      made("mkdir", () => calls.mkdir(text, 0o700), path);
      return true;
    } catch (error) {
      if (isCode(error, "EEXIST") && stat("stat", path, 0)?.isDirectory()) return false;
      throw error;
    }
  };
  const makeFolder = (path: string): string | undefined => {
    let isNew = false;
    if (ifThere(() => (isNew = makeOne(path)))) return isNew ? path : undefined;
    const first = makeFolder(dirname(path));
    return makeOne(path) ? (first ?? path) : first;
  };
  return {
    open,
    close,
    read(fd, buffer, from, position) {
      const room = lengthOf(buffer) - from;
      if (room === 0) return 0;
      return made("read", () => calls.pread(fd, addressOf(buffer, from), room, position));
    },
    write,
    truncate: (fd, size) => void made("ftruncate", () => calls.ftruncate(fd, size)),
    sync,
    syncData,
    syncDataLater: (fd) => syncOnPool(fd, syncData),
    lock,
    statOpen(fd) {
      made("fstat", () => calls.statx(fd, nothing, ofDescriptor, basicStats, filledBytes));
      return new LinuxStat();
    },
    length,
    stat: (path) => stat("stat", path, 0),
    statLink: (path) => stat("lstat", path, notThrough),
    exists(path) {
      try {
        return calls.access(textOfC(path), 0) === 0;
      } catch {
        return false;
      }
    },
    list: (path) => list(path),
    rename(from, to) {
      const text = textOfC(from);
      const other = textOfC(to);
      made("rename", () => calls.rename(text, other), from);
    },
    remove,
    removeFolder,
    removeTree,
    makeFolder,
    syncFolder(path) {
      const fd = open(path, O_RDONLY);
      try {
        sync(fd);
      } finally {
        close(fd);
      }
    },
    watch: (path, onChange, onError) => nodeFiles().watch(path, onChange, onError),
  };
}

const nothing = textOfC("");

/** Does something with what is at a path, and gives whether it was there. */
function ifThere(act: () => void): boolean {
  try {
    act();
    return true;
  } catch (error) {
    if (isCode(error, "ENOENT")) return false;
    throw error;
  }
}

const isCode = (error: unknown, code: string): boolean =>
  error instanceof SystemError && error.code === code;

/** What statx(2) fills in, in the words of 32 bits that its struct has. */
const filled = new Uint32Array(64);
const filledBytes = new Uint8Array(filled.buffer);
const filledHalves = new Uint16Array(filled.buffer);
const word = (at: number): number => filled[at] as number;
const high = 2 ** 32;

class LinuxStat implements FileStat {
  readonly nlink = word(4);
  readonly uid = word(5);
  readonly mode = filledHalves[14] as number;
  readonly ino = word(8) + word(9) * high;
  readonly size = word(10) + word(11) * high;
  // Seconds before 1970 are below zero.
  readonly mtimeMs = (word(28) + (word(29) | 0) * high) * 1000 + word(30) / 1e6;

  isFile(): boolean {
    return (this.mode & typeMask) === plain;
  }

  isDirectory(): boolean {
    return (this.mode & typeMask) === folder;
  }

  isSocket(): boolean {
    return (this.mode & typeMask) === socket;
  }

  isSymbolicLink(): boolean {
    return (this.mode & typeMask) === link;
  }
}

const roomBytes = 32 * 1024;

/** The names in what getdents64(2) fills in: records with their length at 16, and at 19 a name that a zero ends. */
function namesBy(fill: (room: Uint8Array) => number): string[] {
  const room = allocate(roomBytes);
  const names: string[] = [];
  for (let end = fill(room); end > 0; end = fill(room)) {
    for (let at = 0; at < end; at += (room[at + 16] as number) + (room[at + 17] as number) * 256) {
      const from = at + 19;
      const name = utf8Of(room, from, indexOfByte(room, 0, from));
      if (name !== "." && name !== "..") names[names.length] = name;
    }
  }
  return names;
}
