import { type ChildProcess, spawn } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type EvalCase, type EvalThread, type Score, ScorerError } from "@uncaged/workflow-evals";
import type { AttemptError } from "@uncaged/workflow/records";
import { buildBundle, hashOf, makeTemporary } from "@uncaged/workflow/internal";
import { elapsed } from "../output/text.ts";
import { ownProgram } from "../session/own-command.ts";
import { scorerBroken, scorerTimeout } from "./errors.ts";

/**
 * Messages between this process and a scorer's process, one line of JSON each. The scorer's first line is an error or a
 * ready message.
 */
export type ScoreRequest = { case: Omit<EvalCase, "fixture">; thread: EvalThread };
export type ScoreAnswer = { ready: true } | { score: Score } | { error: AttemptError };

/** Returns the path of a built scorer's source map. */
export const mapOf = (path: string): string => `${path}.map`;

/** Returns an error on one line, after the source position that threw it. */
function lineOf({ name, message, at }: AttemptError): string {
  const where = at ? `${at.file}:${at.line}:${at.column}: ` : "";
  return `${where}${name}: ${message}`;
}

/** File descriptor on which a scorer's process answers, because its stdout goes to the terminal. */
export const answerFd = 3;

type Options = { cwd: string; env: Record<string, string>; timeoutMs: number; most: number };

/**
 * A scorer in its own processes, because it may hang, exit or print any text. Each process scores one thread at a time.
 */
export class Scorers {
  /** Hash of the scorer and all its imports. */
  readonly hash: string;
  readonly #file: string;
  readonly #folder: string;
  readonly #options: Options;
  readonly #idle: ScorerProcess[] = [];
  readonly #all = new Set<ScorerProcess>();
  readonly #waiting: (() => void)[] = [];

  private constructor(file: string, hash: string, folder: string, options: Options) {
    this.#file = file;
    this.hash = hash;
    this.#folder = folder;
    this.#options = options;
  }

  /**
   * Builds a scorer and starts one process.
   * @throws WorkflowError `BUILD_FAILED`, `SCORER_BROKEN`.
   */
  static async open(file: string, options: Options): Promise<Scorers> {
    const { code, map } = await buildBundle(file);
    const folder = makeTemporary("uncaged-scorer-");
    const scorers = new Scorers(file, hashOf(code), folder, options);
    try {
      writeFileSync(scorers.#path, code);
      writeFileSync(mapOf(scorers.#path), map);
      scorers.#idle.push(await scorers.#begin());
      return scorers;
    } catch (error) {
      scorers.close();
      throw error;
    }
  }

  /** Scores a thread. @throws WorkflowError `SCORER_FAILED`, `SCORER_TIMEOUT`, `SCORER_BROKEN`. */
  async score(given: EvalCase, thread: EvalThread): Promise<Score> {
    const { fixture: _, ...one } = given;
    const scorer = await this.#take();
    try {
      const answer = await scorer.ask({ case: one, thread }, this.#options.timeoutMs);
      if ("score" in answer) return answer.score;
      if ("error" in answer)
        throw new ScorerError(`the scorer failed: ${lineOf(answer.error)}`, answer.error);
      throw new ScorerError("the scorer gave no answer");
    } finally {
      if (scorer.isOver) this.#all.delete(scorer);
      else this.#idle.push(scorer);
      this.#waiting.shift()?.();
    }
  }

  close(): void {
    for (const scorer of this.#all) scorer.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get #path(): string {
    return join(this.#folder, "scorer.mjs");
  }

  async #take(): Promise<ScorerProcess> {
    for (;;) {
      const idle = this.#idle.pop();
      if (idle && !idle.isOver) return idle;
      if (idle) this.#all.delete(idle);
      else if (this.#all.size < this.#options.most) return await this.#begin();
      else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  async #begin(): Promise<ScorerProcess> {
    const { cwd, env, timeoutMs } = this.#options;
    const scorer = new ScorerProcess(this.#path, { cwd, env });
    this.#all.add(scorer);
    const answer = await scorer.answer(timeoutMs).catch((error: unknown) => {
      this.#all.delete(scorer);
      throw error;
    });
    if ("ready" in answer) return scorer;
    throw scorerBroken(this.#file, "error" in answer ? lineOf(answer.error) : "no answer");
  }
}

class ScorerProcess {
  isOver = false;
  readonly #child: ChildProcess;
  #next = Promise.withResolvers<ScoreAnswer>();

  constructor(path: string, { cwd, env }: Pick<Options, "cwd" | "env">) {
    const [program = "", ...words] = ownProgram().argv;
    const child = spawn(program, [...words, "__score", path], {
      cwd,
      // The flag ends the child whenever this process ends, even by a kill.
      env: { ...env, BUN_FEATURE_FLAG_NO_ORPHANS: "1" },
      stdio: ["pipe", 2, 2, "pipe"],
    });
    this.#child = child;
    const lines = createInterface({ input: child.stdio[answerFd] as NodeJS.ReadableStream });
    lines.on("line", (line) => this.#next.resolve(JSON.parse(line) as ScoreAnswer));
    // Writing to an ended process fails; the exit handler reports the end.
    child.stdin?.on("error", () => undefined);
    child.on("error", (error) => this.#end(`can't be started: ${error.message}`));
    child.on("exit", (code, signal) =>
      this.#end(signal ? `was ended by ${signal}` : `ended with code ${code}`),
    );
    this.#next.promise.catch(() => undefined);
  }

  ask(request: ScoreRequest, timeoutMs: number): Promise<ScoreAnswer> {
    this.#next = Promise.withResolvers();
    this.#child.stdin?.write(`${JSON.stringify(request)}\n`);
    return this.answer(timeoutMs);
  }

  /** Returns the process's next answer. After the timeout, kills the process and rejects. */
  async answer(timeoutMs: number): Promise<ScoreAnswer> {
    const { promise, reject } = this.#next;
    const timer = setTimeout(() => {
      this.kill();
      reject(scorerTimeout(elapsed(timeoutMs)));
    }, timeoutMs);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
    }
  }

  kill(): void {
    this.isOver = true;
    this.#child.kill("SIGKILL");
  }

  #end(how: string): void {
    this.isOver = true;
    this.#next.reject(new ScorerError(`the scorer's process ${how}`));
  }
}
