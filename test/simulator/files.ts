import { constants } from "node:fs";
import type { FileStat, Files } from "../../packages/workflow/src/system/port.ts";
import {
  type FileInode,
  type FolderInode,
  forget,
  type Inode,
  logOf,
  type OpenFile,
  systemError,
  unlock,
} from "./disk.ts";
import { Calls, type DiskWatch } from "./calls.ts";
import type { Fault } from "./faults.ts";
import { Random } from "../../packages/workflow/src/chaos/random.ts";
import type { Process, World } from "./world.ts";

/** Files of the simulated machine. Any fault may occur at each call. */
export class SimulatedFiles implements Files {
  readonly #world: World;
  readonly #watch: DiskWatch;
  readonly #calls: Calls;
  readonly #watchers = new Set<{
    path: string;
    process: Process;
    onChange: (name: string) => void;
  }>();
  #lastFd = 2;

  constructor(world: World, watch: DiskWatch) {
    this.#world = world;
    this.#watch = watch;
    this.#calls = new Calls(world, watch);
  }

  open(path: string, flags: number): number {
    return this.#calls.make("open", path, (_, process) => {
      const { disk } = this.#world;
      let inode = disk.at(path);
      if (!inode) {
        if ((flags & constants.O_CREAT) === 0) throw systemError("ENOENT", path);
        this.#calls.needSpace(path);
        inode = disk.newFile();
        this.#name(path, inode);
      } else if (flags & constants.O_EXCL) throw systemError("EEXIST", path);
      if (inode.kind === "socket") throw systemError("ENXIO", path);
      const fd = (this.#lastFd += 1);
      process.files.set(fd, { inode, flags, owner: process });
      return fd;
    });
  }

  close(fd: number): void {
    const process = this.#world.running;
    const file = process.files.get(fd);
    if (!file) throw systemError("EBADF", String(fd));
    process.files.delete(fd);
    unlock(file);
    this.#calls.make("close", String(file.inode.ino), () => undefined);
  }

  read(fd: number, buffer: Uint8Array, from: number, position: number): number {
    return this.#calls.make("read", String(position), () => {
      const { view } = this.#file(fd).cache;
      const bytes = view.subarray(position, position + buffer.length - from);
      buffer.set(bytes, from);
      return bytes.length;
    });
  }

  write(fd: number, bytes: Uint8Array, from: number): number {
    return this.#calls.make("write", String(fd), (fault) => {
      const inode = this.#file(fd);
      this.#calls.needSpace(String(fd));
      let given = bytes.subarray(from);
      if (fault && given.length > 0) given = given.subarray(0, fault.detail % given.length);
      if (fault?.kind === "writeShort" && given.length === 0)
        given = bytes.subarray(from, from + 1);
      inode.append(given);
      this.#world.note(`bytes ${inode.ino} ${Bun.hash.crc32(given)}`);
      this.#changed(inode);
      if (fault?.kind === "writeTorn") throw systemError("ENOSPC", String(fd));
      return given.length;
    });
  }

  truncate(fd: number, size: number): void {
    this.#calls.make("truncate", `${fd} ${size}`, () => {
      const inode = this.#file(fd);
      inode.truncate(size);
      this.#changed(inode);
    });
  }

  sync(fd: number): void {
    this.#calls.make("sync", String(fd), (fault) => this.#sync(this.#opened(fd), fault));
  }

  syncData(fd: number): void {
    this.sync(fd);
  }

  syncDataLater(fd: number): Promise<void> {
    return this.#calls.make("sync", `${fd} later`, (fault, process) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const file = this.#opened(fd);
      const count = file.inode.kind === "file" ? file.inode.unsynced : 0;
      const { random } = this.#world;
      const ms = random.around(1);
      // The system completes the call even if the process dies first.
      this.#world.plan(null, ms, () => {
        if (!process.alive && random.chance(0.5)) return;
        try {
          this.#sync(file, fault, count);
          this.#world.plan(process, random.around(0.05), resolve);
        } catch (error) {
          this.#world.plan(process, random.around(0.05), () => reject(error));
        }
      });
      return promise;
    });
  }

  lock(fd: number): boolean {
    return this.#calls.make("lock", String(fd), () => {
      const file = this.#opened(fd);
      const { inode } = file;
      if (inode.kind !== "file") throw systemError("EBADF", String(fd));
      if (inode.lockedBy && inode.lockedBy !== file) return false;
      inode.lockedBy = file;
      return true;
    });
  }

  length(fd: number): number {
    return this.statOpen(fd).size;
  }

  statOpen(fd: number): FileStat {
    return this.#calls.make("stat", String(fd), () => statOf(this.#opened(fd).inode));
  }

  stat(path: string): FileStat | null {
    return this.#calls.make("stat", path, () => {
      const inode = this.#world.disk.at(path);
      return inode && statOf(inode);
    });
  }

  statLink(path: string): FileStat | null {
    return this.stat(path);
  }

  exists(path: string): boolean {
    return this.#calls.make("stat", path, () => {
      try {
        return this.#world.disk.at(path) !== null;
      } catch {
        return false;
      }
    });
  }

  list(folder: string): string[] {
    return this.#calls.make("list", folder, () => {
      const inode = this.#world.disk.at(folder);
      if (inode?.kind !== "folder") throw systemError(inode ? "ENOTDIR" : "ENOENT", folder);
      return [...inode.names.keys()];
    });
  }

  rename(from: string, to: string): void {
    this.#calls.make("rename", `${from} ${to}`, () => {
      const { disk } = this.#world;
      const inode = disk.at(from);
      if (!inode) throw systemError("ENOENT", from);
      const source = disk.parentOf(from);
      const target = disk.parentOf(to);
      const replaced = target.folder.names.get(target.name);
      if (source.folder === target.folder) {
        target.folder.change([target.name, inode], [source.name, null]);
      } else {
        target.folder.change([target.name, inode]);
        source.folder.change([source.name, null]);
      }
      if (replaced) forget(replaced);
      this.#touch(source.folder, target.folder);
      this.#named(to, inode);
      if (source.folder !== target.folder) this.#watch.onRemoved(from, inode);
    });
  }

  remove(path: string): void {
    this.#calls.make("remove", path, () => this.#remove(path));
  }

  removeFolder(folder: string): void {
    this.#calls.make("remove", folder, () => {
      const inode = this.#world.disk.at(folder);
      if (inode?.kind !== "folder") throw systemError("ENOENT", folder);
      if (inode.names.size > 0) throw systemError("ENOTEMPTY", folder);
      this.#remove(folder);
    });
  }

  removeTree(folder: string): void {
    const inode = this.#world.disk.at(folder);
    if (inode?.kind === "folder") {
      for (const name of [...inode.names.keys()]) this.removeTree(`${folder}/${name}`);
    }
    this.remove(folder);
  }

  makeFolder(path: string): string | undefined {
    return this.#calls.make("makeFolder", path, () => {
      const { disk } = this.#world;
      const parts = path.split("/").filter(Boolean);
      let first: string | undefined;
      for (let count = 1; count <= parts.length; count += 1) {
        const part = `/${parts.slice(0, count).join("/")}`;
        const inode = disk.at(part);
        if (inode && inode.kind !== "folder") throw systemError("EEXIST", part);
        if (inode) continue;
        this.#calls.needSpace(part);
        this.#name(part, disk.newFolder());
        first ??= part;
      }
      return first;
    });
  }

  syncFolder(folder: string): void {
    this.#calls.make("syncFolder", folder, (fault) => {
      const inode = this.#world.disk.at(folder);
      if (inode?.kind !== "folder") throw systemError("ENOENT", folder);
      this.#sync({ inode }, fault);
    });
  }

  watch(path: string, onChange: (name: string) => void): { close(): void } {
    return this.#calls.make("watch", path, (_, process) => {
      if (!this.#world.disk.at(path)) throw systemError("ENOENT", path);
      const watcher = { path, process, onChange };
      this.#watchers.add(watcher);
      const close = () => void this.#watchers.delete(watcher);
      process.onEnd.push(close);
      return { close };
    });
  }

  #opened(fd: number): OpenFile {
    const file = this.#world.running.files.get(fd);
    if (!file) throw systemError("EBADF", String(fd));
    return file;
  }

  #file(fd: number): FileInode {
    const { inode } = this.#opened(fd);
    if (inode.kind !== "file") throw systemError("EISDIR", String(fd));
    return inode;
  }

  #sync({ inode }: { inode: FileInode | FolderInode }, fault: Fault | null, count?: number): void {
    if (fault) {
      inode.failSync(new Random(fault.detail, "sync"));
      throw systemError("EIO", String(inode.ino));
    }
    if (inode.kind === "file") inode.sync(count);
    else inode.sync();
  }

  #name(path: string, inode: Inode): void {
    const { folder, name } = this.#world.disk.parentOf(path);
    folder.change([name, inode]);
    inode.links = 1;
    this.#touch(folder);
    this.#named(path, inode);
  }

  /** Gives a socket a name. */
  nameSocket(path: string, inode: Inode): void {
    this.#calls.make("open", path, () => {
      if (this.#world.disk.at(path)) throw systemError("EADDRINUSE", path);
      this.#name(path, inode);
    });
  }

  #named(path: string, inode: Inode): void {
    if (inode.kind === "file") {
      inode.log = logOf(path);
      if (inode.log) this.#watch.onLog(inode);
    }
    this.#watch.onNamed(path, inode);
  }

  #remove(path: string): void {
    const inode = this.#world.disk.at(path);
    if (!inode) return;
    const { folder, name } = this.#world.disk.parentOf(path);
    folder.change([name, null]);
    this.#touch(folder);
    this.#watch.onRemoved(path, inode);
    forget(inode);
  }

  #touch(...folders: FolderInode[]): void {
    for (const folder of folders) folder.changedAt = this.#world.wall;
    this.#ring();
  }

  #changed(inode: FileInode): void {
    inode.changedAt = this.#world.wall;
    if (inode.log) this.#watch.onLog(inode);
    this.#ring();
  }

  // A watcher reads again after a change of any file.
  #ring(): void {
    for (const { process, onChange, path } of this.#watchers) {
      if (process === this.#world.current || !process.alive) continue;
      this.#world.plan(process, this.#world.random.around(1), () => onChange(path));
    }
  }
}

const uid = process.geteuid?.() ?? 0;

function statOf(inode: Inode): FileStat {
  return {
    size: inode.kind === "file" ? inode.cache.length : 0,
    nlink: inode.links,
    ino: inode.ino,
    uid,
    mode: inode.kind === "folder" ? 0o40700 : 0o100600,
    mtimeMs: inode.changedAt,
    ctimeMs: inode.changedAt,
    birthtimeMs: 0,
    isFile: () => inode.kind === "file",
    isDirectory: () => inode.kind === "folder",
    isSocket: () => inode.kind === "socket",
    isSymbolicLink: () => false,
  };
}
