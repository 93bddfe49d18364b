import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join, sep } from "node:path";
import { diskFull, folderReplaced } from "./errors.ts";

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/** An entry of a directory, and its kind. */
export type Entry = { name: string; isDirectory(): boolean; isSocket(): boolean };

/** Linux resolves `<folder>/<fd>/name` in the open directory itself, even after its path has changed. */
const openFiles = "/proc/self/fd";
const hasOpenFiles = existsSync(openFiles);

// O_PATH of Linux, which Node does not define, works without read permission. Neither choice blocks on a pipe.
const asPlace = hasOpenFiles ? 0o10000000 : O_RDONLY | O_NONBLOCK;

/**
 * An open file or directory of the host that a sandboxed process may have written to, or may replace.
 *
 * The host reaches such folders only through handles: {@link Handle.open} follows the links of a path once and reports
 * the resulting path; methods with a name as an argument never follow a link. On Linux a handle keeps its file when a
 * path is swapped for a link. On other systems each use compares the identity of the file.
 */
export class Handle implements Disposable {
  readonly fd: number;
  /** The path of the file when it was opened, without links. */
  readonly path: string;
  /** Device and inode, as `dev:ino`. They are the same inside a sandbox. */
  readonly identity: string;
  readonly kind: "folder" | "file" | "link" | "other";

  private constructor(fd: number, path: string) {
    this.fd = fd;
    this.path = path;
    const stats = fstatSync(fd, { bigint: true });
    this.identity = `${stats.dev}:${stats.ino}`;
    if (stats.isDirectory()) this.kind = "folder";
    else if (stats.isFile()) this.kind = "file";
    else this.kind = stats.isSymbolicLink() ? "link" : "other";
  }

  get isFolder(): boolean {
    return this.kind === "folder";
  }

  /**
   * Opens a file or directory by its path. A pipe or a device does not block. Check the result's `path`, which is the
   * opened location.
   * @throws the error of the system, such as `ENOENT`
   */
  static open(path: string): Handle {
    const fd = openSync(path, asPlace);
    try {
      const place = hasOpenFiles ? readlinkSync(`${openFiles}/${fd}`) : realpathSync(path);
      const handle = new Handle(fd, place);
      if (hasOpenFiles || isSame(place, handle)) return handle;
      throw folderReplaced(path);
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  /** Opens an entry of this directory; null when it is missing or a link. */
  entry(name: string): Handle | null {
    let fd: number;
    try {
      fd = openSync(this.place(name), asPlace | O_NOFOLLOW);
    } catch (error) {
      const { code = "" } = error as NodeJS.ErrnoException;
      if (["ELOOP", "EMLINK", "ENOENT", "ENOTDIR", "ENXIO"].includes(code)) return null;
      throw error;
    }
    const entry = new Handle(fd, join(this.path, name));
    if (entry.kind !== "link") return entry;
    entry.close();
    return null;
  }

  /** Opens an entry below this directory, name by name; null when a part is missing or a link. */
  below(names: readonly string[]): Handle | null {
    const [first, ...rest] = names;
    if (first === undefined) return null;
    const entry = this.entry(first);
    if (entry === null || rest.length === 0) return entry;
    using folder = entry;
    return folder.isFolder ? folder.below(rest) : null;
  }

  /**
   * Opens a subdirectory, and creates it with mode 0700 if it is missing.
   * @throws when a link or a file has the name
   */
  folder(name: string): Handle {
    try {
      mkdirSync(this.place(name), { mode: 0o700 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const entry = this.entry(name);
    if (entry?.isFolder) return entry;
    entry?.close();
    throw folderReplaced(join(this.path, name));
  }

  /** Lists the names in this directory. */
  names(): string[] {
    return readdirSync(this.place());
  }

  /** Lists the entries of this directory with their kinds; empty when it is unreadable. */
  entries(): Entry[] {
    try {
      return readdirSync(this.place(), { withFileTypes: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EACCES") return [];
      throw error;
    }
  }

  /** Reads a regular file of at most `most` bytes; null for a link, a pipe, a directory and a longer file. */
  read(name: string, most: number): string | null {
    using entry = this.entry(name);
    if (entry?.kind !== "file") return null;
    const flags = O_RDONLY | O_NONBLOCK | (hasOpenFiles ? 0 : O_NOFOLLOW);
    const fd = openSync(hasOpenFiles ? `${openFiles}/${entry.fd}` : this.place(name), flags);
    try {
      const buffer = Buffer.alloc(most + 1);
      let length = 0;
      for (let got = 1; got > 0 && length <= most; length += got) {
        got = readSync(fd, buffer, length, buffer.length - length, null);
      }
      return length > most ? null : buffer.toString("utf8", 0, length);
    } finally {
      closeSync(fd);
    }
  }

  /** Writes a new file with mode 0600. Readers never see a part of it. @throws when a directory has the name */
  write(name: string, content: string | Uint8Array): void {
    const aside = this.place(`.${crypto.randomUUID()}.tmp`);
    try {
      writeFileSync(aside, content, { mode: 0o600, flag: "wx" });
    } catch (error) {
      // The system's error for a full disk does not name the file.
      const { code = "" } = error as NodeJS.ErrnoException;
      if (!["ENOSPC", "EDQUOT"].includes(code)) throw error;
      throw diskFull(join(this.path, name));
    }
    renameSync(aside, this.place(name));
  }

  /** Opens a regular file for reading; the caller closes the descriptor. @throws for any other kind of entry */
  descriptor(name: string): number {
    const fd = openSync(this.place(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (fstatSync(fd).isFile()) return fd;
    closeSync(fd);
    throw folderReplaced(join(this.path, name));
  }

  /** Removes an entry and everything in it. Removes links without following them. */
  remove(name: string): void {
    rmSync(this.place(name), { recursive: true, force: true });
  }

  /** Returns a path into this directory, which is valid while the handle is open. */
  place(name?: string): string {
    if (name !== undefined && (name === "" || name === "." || name === ".." || /[/\0]/.test(name)))
      throw new Error(`invalid name of a directory entry: ${JSON.stringify(name)}`);
    if (!hasOpenFiles && !isSame(this.path, this)) throw folderReplaced(this.path);
    const own = hasOpenFiles ? `${openFiles}/${this.fd}` : this.path;
    return name === undefined ? own : join(own, name);
  }

  close(): void {
    closeSync(this.fd);
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** Whether a path leads to an open file; false for a link. */
function isSame(path: string, { identity }: Pick<Handle, "identity">): boolean {
  try {
    const fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const { dev, ino } = fstatSync(fd, { bigint: true });
    closeSync(fd);
    return identity === `${dev}:${ino}`;
  } catch {
    return false;
  }
}

/** Whether a path is a directory or below it, both without `..` and links. */
export const isInside = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);

/** Returns a path without links; null when the path does not exist. */
export const realOrNull = (path: string): string | null => {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
};
