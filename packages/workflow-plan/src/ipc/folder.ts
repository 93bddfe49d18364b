import { Handle } from "@uncaged/workflow/sandbox";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import {
  fileForm,
  inOrder,
  messageIn,
  mostBytes,
  type StepMessage,
  type StepReply,
} from "./message.ts";

/** The callbacks of the reader of a step's folder. */
export type FolderReader = {
  answer: (message: StepMessage) => Promise<unknown>;
  /** Called when `_close` exists: the step's agent must end. */
  onClose: () => void;
  /** Returns a text without the values of secrets. */
  hide: (text: string) => string;
};

const pollMs = 50;
const mostFiles = 10_000;
const mostErrors = 100;

/**
 * The folder for messages between one attempt at a step and its run: `ipc/{workflow}/{run}/{step}/` of the plan home.
 *
 * - **I1** Files are written under a temporary name and renamed. They are read in the order of their names, each name
 *   once.
 * - **I2** The files of a step are not trusted: links, pipes, too long and malformed files are not messages. They are
 *   moved to `errors/`, which a sandbox does not show.
 * - **I3** The folder is emptied when an attempt starts, and again when the attempt has ended.
 */
export class StepFolder {
  readonly path: string;
  readonly #reader: FolderReader;
  readonly #read = new Set<string>();
  #errors = 0;
  #isOpen = true;
  #reading: Promise<void> = Promise.resolve();
  readonly #top: Handle;
  readonly #parts: Parts;

  private constructor(path: string, reader: FolderReader) {
    this.path = path;
    this.#reader = reader;
    this.#top = Handle.open(path);
    const part = (name: PartName) => this.#top.folder(name);
    this.#parts = { input: part("input"), output: part("output"), errors: part("errors") };
  }

  /** Empties the folder and starts to read it. */
  static open(path: string, reader: FolderReader): StepFolder {
    rmSync(path, { recursive: true, force: true });
    mkdirSync(path, { recursive: true, mode: 0o700 });
    const folder = new StepFolder(path, reader);
    folder.#reading = folder.#poll();
    return folder;
  }

  /** Reads the remaining messages, and leaves only malformed files. */
  async close(): Promise<void> {
    this.#isOpen = false;
    await this.#reading;
    await this.#readAll();
    for (const name of ["input", "output"]) this.#top.remove(name);
    for (const handle of [this.#top, ...Object.values(this.#parts)]) handle.close();
  }

  async #poll(): Promise<void> {
    while (this.#isOpen) {
      if (!(await this.#readAll())) return this.#reader.onClose();
      if (existsSync(join(this.path, "_close"))) return this.#reader.onClose();
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
  }

  /** Reads all files. Returns false if the folders were replaced, unreadable or not writable. */
  async #readAll(): Promise<boolean> {
    return await this.#readNew().catch(() => false);
  }

  async #readNew(): Promise<boolean> {
    for (const [name, { identity }] of Object.entries(this.#parts)) {
      using now = this.#top.entry(name);
      if (now?.identity !== identity) return false;
    }
    for (const name of this.#parts.output.names().sort(inOrder)) {
      // Files that begin with a dot are incomplete.
      if (!name.startsWith(".")) await this.#take(name);
    }
    return true;
  }

  async #take(name: string): Promise<void> {
    const { output } = this.#parts;
    const text = output.read(name, mostBytes);
    const message = text === null || !fileForm.test(name) ? null : messageIn(text);
    const isNew = !this.#read.has(name) && this.#read.size < mostFiles;
    // Remove the file first, so that it is not read again even after an error.
    output.remove(name);
    // A step may write without a pause, so yield to other work between two files.
    await new Promise((resolve) => setImmediate(resolve));
    if (message === null || !isNew) return this.#refuse(name, text);
    this.#read.add(name);
    const reply = await this.#answered(message);
    this.#parts.input.write(name, JSON.stringify(reply));
  }

  async #answered(message: StepMessage): Promise<StepReply> {
    try {
      return { type: "done", value: await this.#reader.answer(message) };
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      return { type: "refused", error: this.#reader.hide(text) };
    }
  }

  #refuse(name: string, text: string | null): void {
    this.#errors += 1;
    if (this.#errors > mostErrors) return;
    const kept = this.#reader.hide(text ?? "not a file of at most 1 MiB");
    const safe = `${this.#errors}-${this.#reader
      .hide(name)
      .replace(/[^\w.-]/g, "_")
      .slice(0, 100)}`;
    this.#parts.errors.write(safe, kept);
  }
}

type PartName = "input" | "output" | "errors";
type Parts = Record<PartName, Handle>;
