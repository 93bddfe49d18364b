import { existsSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { devNull } from "node:os";
import { dirname, join, resolve } from "node:path";
import { makeTemporary } from "@uncaged/workflow/internal";

/** A compiler error. `file` is an absolute path; lines and columns count from 1. */
export type TypeProblem = { file: string; line: number; column: number; message: string };

/** Result of a type check: errors with a position, or the reason why the compiler could not check. */
export type TypeVerdict = { problems: TypeProblem[]; failure: string | null };

/** A running check. After `stop`, it finds no errors. */
export type TypeCheck = { verdict: Promise<TypeVerdict>; stop(): void };

/** Options that keep Bun from reading the project's configuration and environment. Bun only runs the compiler. */
const flags = ["--no-env-file", "--no-install", `--config=${devNull}`];

const sound: TypeVerdict = { problems: [], failure: null };

/**
 * The type checker of a project: its own compiler and configuration, in a separate process that caches unchanged files
 * between checks.
 */
export class TypeChecker {
  readonly #compiler: string;
  readonly #config: string;
  readonly #memory = makeTemporary("uncaged-types-");

  constructor({ compiler, config }: { compiler: string; config: string }) {
    this.#compiler = compiler;
    this.#config = config;
  }

  /**
   * Returns the checker of a source; null if the source is not TypeScript or its project has no compiler or
   * `tsconfig.json`.
   */
  static of(source: string): TypeChecker | null {
    if (!/\.[cm]?tsx?$/.test(source)) return null;
    const config = above(source, "tsconfig.json");
    const manifest = above(source, "node_modules/typescript/package.json");
    const compiler = manifest && compilerIn(manifest);
    return config && compiler ? new TypeChecker({ compiler, config }) : null;
  }

  check(): TypeCheck {
    const own = ["--noEmit", "--pretty", "false", "--incremental"];
    const memory = ["--tsBuildInfoFile", join(this.#memory, "types.tsbuildinfo")];
    const words = [this.#compiler, "-p", this.#config, ...own, ...memory];
    const cwd = dirname(this.#config);
    const child = Bun.spawn([process.execPath, ...flags, ...words], {
      cwd,
      // BUN_BE_BUN makes a standalone binary act as Bun. The other flag ends the child whenever this process ends.
      env: { ...process.env, BUN_BE_BUN: "1", BUN_FEATURE_FLAG_NO_ORPHANS: "1" },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "ignore",
    });
    let isStopped = false;
    const verdict = Promise.all([child.exited, child.stdout.text()]).then(([code, text]) =>
      isStopped || code === 0 ? sound : verdictOf(text, cwd),
    );
    return {
      verdict,
      stop() {
        isStopped = true;
        child.kill();
      },
    };
  }

  close(): void {
    rmSync(this.#memory, { recursive: true, force: true });
  }
}

const problemLine = /^(.+?)\((\d+),(\d+)\): error (TS\d+: .*)$/;

function verdictOf(text: string, cwd: string): TypeVerdict {
  const problems: TypeProblem[] = [];
  for (const line of text.split("\n")) {
    const [, file = "", row, column, message = ""] = problemLine.exec(line) ?? [];
    const last = problems.at(-1);
    if (row !== undefined) {
      problems.push({
        file: real(resolve(cwd, file)),
        line: Number(row),
        column: Number(column),
        message,
      });
    } else if (last && line.startsWith(" ")) {
      last.message += ` ${line.trim()}`;
    }
  }
  if (problems.length > 0) return { problems, failure: null };
  const [first = ""] = text.split("\n").filter((line) => line.trim() !== "");
  return { problems, failure: first || "the compiler failed" };
}

function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** Returns the nearest file with this name in a path's folder or a parent folder. */
function above(path: string, name: string): string | null {
  for (let folder = dirname(real(resolve(path))); ; folder = dirname(folder)) {
    const found = join(folder, name);
    if (existsSync(found)) return found;
    if (dirname(folder) === folder) return null;
  }
}

function compilerIn(manifest: string): string | null {
  try {
    const { bin } = JSON.parse(readFileSync(manifest, "utf8")) as { bin?: { tsc?: string } };
    return bin?.tsc ? join(dirname(manifest), bin.tsc) : null;
  } catch {
    return null;
  }
}
