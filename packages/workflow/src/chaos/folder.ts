import { cpSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { sha256 } from "../record/sha256.ts";

/** The size and a part of the SHA-256 of each file in a folder, as text by path. */
export type FilesIn = ReadonlyMap<string, string>;

const mostFiles = 10_000;
const hashDigits = 12;

/** The working folder of live roles. Each run gets a new folder. */
export class WorkFolder {
  readonly #path: string;
  readonly #from: string | null;

  /** @param from The folder that each run gets a copy of; null for an empty working folder. */
  constructor(path: string, from: string | null) {
    this.#path = path;
    this.#from = from;
  }

  /** Restores the initial content of the folder. */
  reset(): void {
    rmSync(this.#path, { recursive: true, force: true });
    mkdirSync(this.#path, { recursive: true });
    if (this.#from !== null) cpSync(this.#from, this.#path, { recursive: true });
  }

  /** Reads at most 10,000 files of the folder, except files in `.git`. */
  files(): FilesIn {
    const found = new Map<string, string>();
    const visit = (path: string): void => {
      for (const entry of readdirSync(join(this.#path, path)).sort()) {
        const inside = join(path, entry);
        if (entry === ".git" || found.size >= mostFiles) continue;
        const stat = lstatSync(join(this.#path, inside));
        if (stat.isDirectory()) visit(inside);
        else if (stat.isFile())
          found.set(inside, contentOf(readFileSync(join(this.#path, inside))));
      }
    };
    visit("");
    return found;
  }
}

const contentOf = (bytes: Uint8Array): string =>
  `${bytes.length} bytes, SHA-256 ${sha256(bytes).slice(0, hashDigits)}`;
