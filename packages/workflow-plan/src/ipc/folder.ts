import { constants } from "node:fs";
import {
  access,
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import {
  fileForm,
  inOrder,
  messageIn,
  mostBytes,
  type StepMessage,
  type StepReply,
} from "./message.ts";

/** What reads a step's folder is called with. */
export type FolderReader = {
  answer: (message: StepMessage) => Promise<unknown>;
  /** `_close` is there: the step's agent is to end. */
  onClose: () => void;
  /** What is kept of a malformed file. */
  hide: (text: string) => string;
};

const pollMs = 50;
const mostFiles = 10_000;
const mostErrors = 100;

/**
 * The folder through which one attempt at a step is talked to: `ipc/{workflow}/{run}/{step}/` of the plan home.
 *
 * - **I1** Files are written aside and renamed, and read in the order of their names, each name once.
 * - **I2** What a step writes is not trusted: links, pipes, long and malformed files are no messages. They go to
 *   `errors/`, which a sandbox does not show.
 * - **I3** It is made empty when an attempt starts, and nothing of what was written is left when it has ended.
 */
export class StepFolder {
  readonly path: string;
  readonly #reader: FolderReader;
  readonly #read = new Set<string>();
  #errors = 0;
  #written = 0;
  #isOpen = true;
  #reading: Promise<void> = Promise.resolve();
  readonly #own: Own;

  private constructor(path: string, reader: FolderReader, own: Own) {
    this.path = path;
    this.#reader = reader;
    this.#own = own;
  }

  static async open(path: string, reader: FolderReader): Promise<StepFolder> {
    await emptyFolder(path);
    const folder = new StepFolder(path, reader, await ownOf(path));
    folder.#reading = folder.#poll();
    return folder;
  }

  /** Reads what is still there, and leaves nothing but what was malformed. */
  async close(): Promise<void> {
    this.#isOpen = false;
    await this.#reading;
    await this.#readAll();
    await this.#own.handle.close();
    for (const name of ["input", "output"]) await remove(join(this.path, name));
  }

  async #poll(): Promise<void> {
    while (this.#isOpen) {
      // What was put in their place may lead anywhere.
      if (!(await this.#readAll())) return this.#reader.onClose();
      if (await isThere(join(this.path, "_close"))) return this.#reader.onClose();
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
  }

  /** False when the folders are not those that were made, or can't be read or written any more. */
  async #readAll(): Promise<boolean> {
    return await this.#readNew().catch(() => false);
  }

  async #readNew(): Promise<boolean> {
    if ((await identityOf(this.path)) !== this.#own.identity) return false;
    const names = await readdir(this.#own.output).catch(() => []);
    for (const name of names.sort(inOrder)) {
      // What is written aside.
      if (!name.startsWith(".")) await this.#take(name);
    }
    return true;
  }

  async #take(name: string): Promise<void> {
    const path = join(this.#own.output, name);
    const text = await readSafely(path);
    const message = text === null || !fileForm.test(name) ? null : messageIn(text);
    const isNew = !this.#read.has(name) && this.#read.size < mostFiles;
    // First: whatever happens then, it is not read again.
    await remove(path);
    if (message === null || !isNew) return await this.#refuse(name, text);
    this.#read.add(name);
    await this.#reply(name, await this.#answered(message));
  }

  async #answered(message: StepMessage): Promise<StepReply> {
    try {
      return { type: "done", value: await this.#reader.answer(message) };
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      return { type: "refused", error: this.#reader.hide(text) };
    }
  }

  async #reply(name: string, reply: StepReply): Promise<void> {
    this.#written += 1;
    const aside = join(this.path, `.${this.#written}.tmp`);
    await writeFile(aside, JSON.stringify(reply), { mode: 0o600, flag: "wx" });
    await rename(aside, join(this.path, "input", name));
  }

  async #refuse(name: string, text: string | null): Promise<void> {
    this.#errors += 1;
    if (this.#errors > mostErrors) return;
    const kept = this.#reader.hide(text ?? "it is no file of at most 1 MiB");
    const safe = `${this.#errors}-${this.#reader
      .hide(name)
      .replace(/[^\w.-]/g, "_")
      .slice(0, 100)}`;
    await writeFile(join(this.path, "errors", safe), kept, { mode: 0o600 });
  }
}

const parts = ["input", "output", "errors"];

const remove = (path: string): Promise<void> => rm(path, { recursive: true, force: true });

/** The folders as they were made, and a path that leads to `output/` whatever stands in its place. */
type Own = { identity: string; handle: FileHandle; output: string };

async function ownOf(path: string): Promise<Own> {
  const output = join(path, "output");
  const handle = await open(output, constants.O_RDONLY | constants.O_DIRECTORY);
  const byHandle = `/proc/self/fd/${handle.fd}`;
  const isLinux = await isThere(byHandle);
  return { identity: await identityOf(path), handle, output: isLinux ? byHandle : output };
}

async function identityOf(path: string): Promise<string> {
  const all = await Promise.all(parts.map((name) => lstat(join(path, name)).catch(() => null)));
  return all.map((stats) => `${stats?.dev}:${stats?.ino}`).join(" ");
}

async function emptyFolder(path: string): Promise<void> {
  await remove(path);
  for (const name of parts) {
    await mkdir(join(path, name), { recursive: true, mode: 0o700 });
  }
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** The text of a plain file of at most {@link mostBytes}; null for anything else. */
async function readSafely(path: string): Promise<string | null> {
  const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(() => null);
  if (file === null) return null;
  try {
    if (!(await file.stat()).isFile()) return null;
    const buffer = Buffer.alloc(mostBytes + 1);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    return bytesRead > mostBytes ? null : buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}
