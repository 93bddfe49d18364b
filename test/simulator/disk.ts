/*
 * A disk in memory with two layers: the system's cache, and the platter, which survives a power loss.
 *
 * D1 A write reaches the platter when its file is synced, a name when its folder is synced.
 * D2 A power loss keeps or drops each unsynced change in any combination, except for two changes of one name. It may
 *    also tear a write.
 * D3 A failing file sync may have written any of the changes. It never writes the rest, although the cache shows it.
 * D4 A lock belongs to the open file, not to the process.
 */
import type { Random } from "../../packages/workflow/src/chaos/random.ts";

/** A growing buffer. */
class Bytes {
  #buffer: Buffer = Buffer.alloc(256);
  length = 0;

  get view(): Buffer {
    return this.#buffer.subarray(0, this.length);
  }

  write(at: number, bytes: Uint8Array): void {
    this.#reserve(at + bytes.length);
    this.#buffer.set(bytes, at);
    this.length = Math.max(this.length, at + bytes.length);
  }

  resize(length: number): void {
    this.#reserve(length);
    this.#buffer.fill(0, Math.min(length, this.length), Math.max(length, this.length));
    this.length = length;
  }

  become(other: Bytes): void {
    this.length = 0;
    this.write(0, other.view);
  }

  #reserve(length: number): void {
    if (length <= this.#buffer.length) return;
    const larger = Buffer.alloc(Math.max(length, this.#buffer.length * 2));
    larger.set(this.view);
    this.#buffer = larger;
  }
}

type Change = { at: number; bytes: Uint8Array } | { size: number };
/** Changes of names that reach the platter together. A rename within a folder makes two. */
type NameChange = [name: string, inode: Inode | null][];

/** A file, a folder or a socket, independent of its names. */
export type Inode = FileInode | FolderInode | SocketInode;
export type SocketInode = { kind: "socket"; ino: number; links: number; changedAt: number };

/** A file with its bytes in the cache and on the platter. */
export class FileInode {
  readonly kind = "file";
  readonly ino: number;
  readonly cache = new Bytes();
  readonly platter = new Bytes();
  links = 0;
  changedAt = 0;
  /** Open file that holds the lock. */
  lockedBy: OpenFile | null = null;
  /** The thread of the log with this file's name; null for other files. */
  log: { hash: string; threadId: string } | null = null;
  /** Whether a power loss or a failed sync left zeros in place of unsynced bytes. */
  hasHole = false;
  /** Whether a bit of the file was flipped. */
  isFlipped = false;
  /** Whether the flipped bit is only in the cache. A power loss undoes such a flip. */
  isFlippedInCache = false;
  #unsynced: Change[] = [];

  constructor(ino: number) {
    this.ino = ino;
  }

  /** Number of changes in the cache that the next sync would write. */
  get unsynced(): number {
    return this.#unsynced.length;
  }

  append(bytes: Uint8Array): void {
    this.#unsynced.push({ at: this.cache.length, bytes: bytes.slice() });
    this.cache.write(this.cache.length, bytes);
  }

  truncate(size: number): void {
    this.#unsynced.push({ size });
    this.cache.resize(size);
  }

  /** Writes the first `count` changes, by default all. */
  sync(count = this.#unsynced.length): void {
    for (const change of this.#unsynced.splice(0, count)) this.#apply(change);
  }

  /** Fails a sync. The cache looks clean afterwards. */
  failSync(random: Random): void {
    const isAll = random.chance(0.6);
    for (const change of this.#unsynced) {
      if (!isAll && random.chance(0.5)) this.#apply(change);
    }
    this.#unsynced = [];
  }

  /** Flips a bit in the cache or on the platter. */
  flip(at: number, bit: number): void {
    this.isFlipped = true;
    this.isFlippedInCache = at >= this.platter.length;
    for (const layer of [this.cache, this.platter]) {
      const byte = layer.view[at];
      if (byte !== undefined) layer.view[at] = byte ^ (1 << bit);
    }
  }

  losePower(random: Random): void {
    const isOrdered = random.chance(0.4);
    const kept = random.below(this.#unsynced.length + 1);
    for (const [index, change] of this.#unsynced.entries()) {
      if (isOrdered ? index < kept : random.chance(0.5)) this.#apply(change);
      else if ("bytes" in change) this.#tear(change, random);
    }
    this.#unsynced = [];
    this.cache.become(this.platter);
    this.lockedBy = null;
  }

  #tear({ at, bytes }: { at: number; bytes: Uint8Array }, random: Random): void {
    const part = random.below(4);
    const written = bytes.subarray(0, random.below(bytes.length + 1));
    if (part === 0) this.#apply({ at, bytes: written });
    // The new length reached the disk, but the bytes did not.
    if (part !== 1 || written.length === 0) return;
    this.#apply({ at, bytes: new Uint8Array(written.length) });
    this.hasHole = true;
  }

  #apply(change: Change): void {
    if ("size" in change) this.platter.resize(change.size);
    else {
      if (change.at > this.platter.length) {
        this.platter.resize(change.at);
        this.hasHole = true;
      }
      this.platter.write(change.at, change.bytes);
    }
  }
}

/** A folder with its names in the cache and on the platter. */
export class FolderInode {
  readonly kind = "folder";
  readonly ino: number;
  readonly names = new Map<string, Inode>();
  readonly platter = new Map<string, Inode>();
  links = 1;
  changedAt = 0;
  #unsynced: NameChange[] = [];

  constructor(ino: number) {
    this.ino = ino;
  }

  change(...changes: NameChange): void {
    apply(this.names, changes);
    this.#unsynced.push(changes);
  }

  sync(): void {
    for (const change of this.#unsynced) apply(this.platter, change);
    this.#unsynced = [];
  }

  /** Fails a sync. Unlike a file's pages, names stay dirty, so a later sync writes them. */
  failSync(random: Random): void {
    const kept = random.below(this.#unsynced.length + 1);
    for (const change of this.#unsynced.splice(0, kept)) apply(this.platter, change);
  }

  losePower(random: Random): void {
    const isOrdered = random.chance(0.5);
    const kept = random.below(this.#unsynced.length + 1);
    const dropped = new Set<string>();
    for (const [index, change] of this.#unsynced.entries()) {
      const follows = change.some(([name]) => dropped.has(name));
      if (!follows && (isOrdered ? index < kept : random.chance(0.5))) apply(this.platter, change);
      else for (const [name] of change) dropped.add(name);
    }
    this.#unsynced = [];
    this.names.clear();
    for (const [name, inode] of this.platter) this.names.set(name, inode);
  }
}

function apply(names: Map<string, Inode>, changes: NameChange): void {
  for (const [name, inode] of changes) {
    if (inode) names.set(name, inode);
    else names.delete(name);
  }
}

export type OpenFile = {
  readonly inode: FileInode | FolderInode;
  readonly flags: number;
  owner: object;
};

/** Returns an error like the error of a failed system call. */
export const systemError = (code: string, path: string): Error =>
  Object.assign(new Error(`${code}: ${path}`), { code });

export class Disk {
  readonly top = new FolderInode(1);
  #lastIno = 1;

  newFile = (): FileInode => new FileInode((this.#lastIno += 1));
  newFolder = (): FolderInode => new FolderInode((this.#lastIno += 1));
  newSocket = (): SocketInode => ({
    kind: "socket",
    ino: (this.#lastIno += 1),
    links: 1,
    changedAt: 0,
  });

  /** Returns the inode at a path; null when it is missing. @throws `ENOTDIR`. */
  at(path: string): Inode | null {
    let inode: Inode = this.top;
    for (const name of path.split("/")) {
      if (name === "") continue;
      if (inode.kind !== "folder") throw systemError("ENOTDIR", path);
      const next: Inode | undefined = inode.names.get(name);
      if (!next) return null;
      inode = next;
    }
    return inode;
  }

  /** Returns the parent folder and the name of a path. @throws `ENOENT`, `ENOTDIR`. */
  parentOf(path: string): { folder: FolderInode; name: string } {
    const at = path.lastIndexOf("/");
    const folder = this.at(path.slice(0, at));
    if (folder?.kind !== "folder") throw systemError(folder ? "ENOTDIR" : "ENOENT", path);
    return { folder, name: path.slice(at + 1) };
  }

  /** Yields every file with its path in the cache. */
  *files(folder = this.top, path = ""): Generator<[path: string, inode: FileInode]> {
    for (const [name, inode] of folder.names) {
      if (inode.kind === "folder") yield* this.files(inode, `${path}/${name}`);
      else if (inode.kind === "file") yield [`${path}/${name}`, inode];
    }
  }

  /** Keeps or drops each unsynced change. The cache then equals the platter. */
  losePower(random: Random): void {
    const seen = new Set<Inode>();
    const lose = (folder: FolderInode) => {
      const before = new Set([...folder.names.values(), ...folder.platter.values()]);
      folder.losePower(random);
      for (const inode of before) {
        if (seen.has(inode) || inode.kind === "socket") continue;
        seen.add(inode);
        if (inode.kind === "folder") lose(inode);
        else inode.losePower(random);
      }
    };
    lose(this.top);
  }
}

const logPattern = /\/logs\/([0-9A-Z]{13})\/([0-9A-Z]{26})\.data\.jsonl$/;
/** Returns the thread whose log has this path; null for any other file. */
export function logOf(path: string): FileInode["log"] {
  const [, hash, threadId] = logPattern.exec(path) ?? [];
  return hash && threadId ? { hash, threadId } : null;
}

/** Removes one name of an inode. Processes with the file open can still use it. */
export function forget(inode: Inode): void {
  inode.links -= 1;
  if (inode.kind === "file") inode.log = null;
}

/** Releases the lock of an open file. */
export function unlock(file: OpenFile): void {
  if (file.inode.kind === "file" && file.inode.lockedBy === file) file.inode.lockedBy = null;
}
