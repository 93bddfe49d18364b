import { setTimeout as sleep } from "node:timers/promises";
import { dirname, resolve } from "node:path";
import { isWorkflowError } from "@uncaged/workflow/host";
import { sourcesFor } from "../arguments/names.ts";
import { count } from "../output/text.ts";
import type { Session } from "../session/session.ts";
import { type DevThreads, Handover } from "./handover.ts";
import { Report, shownPath } from "./report.ts";
import { type TypeCheck, TypeChecker, type TypeProblem } from "./types.ts";
import { SourceWatch } from "./watch.ts";

/** The source file, the name of its workflow, and the options of its threads. */
export type Developed = Omit<DevThreads, "name"> & { file: string; name: string };

/** Maximum time, in milliseconds, that a version waits for the type check before it runs. */
const typesMs = 500;

const isLibrary = /[/\\]node_modules[/\\]/;

/** The loop of `dev`. After each change it builds the file, checks the types and continues the thread. */
export class Development {
  readonly #session: Session;
  readonly #given: Developed;
  readonly #report: Report;
  readonly #watch: SourceWatch;
  readonly #thread: Handover;
  readonly #checker: TypeChecker | null;
  readonly #stop = new AbortController();
  #check: TypeCheck | null = null;
  readonly #path: string;
  #files: string[];
  /** The current version under its registered name. */
  #good: string | null = null;
  #fatal: { error: unknown } | null = null;

  constructor(session: Session, given: Developed) {
    this.#path = resolve(session.cwd, given.file);
    this.#session = session;
    this.#given = given;
    this.#report = new Report(session);
    this.#watch = new SourceWatch(this.#stop.signal);
    this.#thread = new Handover(
      session,
      { ...given, name: `${given.name}@dev` },
      this.#report,
      this.#end,
    );
    this.#checker = TypeChecker.of(this.#path);
    this.#files = [this.#path];
  }

  /**
   * Runs until it is stopped. `keys` lists the active keys for the user.
   * @throws WorkflowError for problems that a change of the file can't fix.
   */
  async run(keys: string): Promise<void> {
    const { signal } = this.#stop;
    try {
      for (let isFirst = true; !signal.aborted; isFirst = false) {
        await this.#round(isFirst);
        if (isFirst && !signal.aborted) this.#greet(keys);
        await this.#watch.changed();
      }
    } catch (error) {
      this.#end(error);
    }
    this.#check?.stop();
    this.#checker?.close();
    await this.#thread.end().catch((error: unknown) => this.#end(error));
    if (this.#fatal) throw this.#fatal.error;
  }

  stop(): void {
    this.#stop.abort();
  }

  /** Stops with an error. Later errors are ignored. */
  readonly #end = (error: unknown): void => {
    this.#fatal ??= { error };
    this.stop();
  };

  /** Runs the thread again, from the start or from its last step. */
  repeat(from: "start" | "last step"): void {
    const hash = this.#good;
    if (hash === null) return;
    const keep = (steps: number) => (from === "start" ? 0 : Math.max(0, steps - 1));
    this.#thread.repeat(hash, keep).catch((error: unknown) => this.#failed(error, false));
  }

  /** The number of the open question of the shown thread; null if the thread does not wait. */
  get question(): number | null {
    return this.#thread.question;
  }

  /** Answers a question of the thread, with JSON or text. */
  async answer(text: string, question: number): Promise<void> {
    await this.#thread.answer(text, question).catch((error: unknown) => this.#failed(error, false));
  }

  #greet(keys: string): void {
    const files = this.#watch.size;
    const others = files > 1 ? ` and ${count(files - 1, "other file")}` : "";
    const text = `watching ${shownPath(this.#session, this.#path)}${others}${keys && `\n${keys}`}`;
    this.#report.note("watching", { files }, this.#session.paint("dim", text));
  }

  async #round(isFirst: boolean): Promise<void> {
    const hash = await this.#build(isFirst);
    if (hash === null) return;
    const check = this.#check;
    const verdict = await Promise.race([this.#problems(check), sleep(typesMs, null)]);
    // The file was saved again, so this version is outdated.
    if (this.#stop.signal.aborted || this.#watch.changes().length > 0) return;
    if (verdict !== null && verdict.length > 0) return this.#report.types(verdict, this.#next());
    if (hash === this.#good) return;
    const before = this.#good;
    this.#good = hash;
    if (verdict === null) this.#backFrom(hash, before, check).catch(this.#end);
    this.#goOn(hash, isFirst);
  }

  /**
   * Builds the file and registers it. Returns null if the build fails, which is reported, or if the file changes
   * meanwhile.
   */
  async #build(isFirst: boolean): Promise<string | null> {
    const { name } = this.#given;
    const since = Date.now();
    this.#watch.mark();
    this.#check?.stop();
    this.#check = this.#checker?.check() ?? null;
    let folders: string[] = [];
    const onInputs = (found: string[]) => {
      this.#files = found.filter((path) => !isLibrary.test(path));
    };
    try {
      const file = shownPath(this.#session, this.#path);
      const sources = await sourcesFor(this.#session, file);
      const version = await this.#session.host.register(name, file, {
        dev: true,
        sources,
        onInputs,
      });
      this.#watch.watch(this.#files, since);
      if (this.#watch.changes().length > 0) return null;
      const { hash } = version;
      const built = { name: version.name, hash, ms: Date.now() - since, files: this.#files };
      this.#report.built(built, hash !== this.#good);
      return hash;
    } catch (error) {
      // The user may create a missing import of the file next.
      folders = [...new Set(this.#files.map((path) => dirname(path)))];
      this.#watch.watch([...this.#files, ...folders], since);
      this.#failed(error, isFirst);
      return null;
    }
  }

  #failed(error: unknown, isFirst: boolean): void {
    if (!isWorkflowError(error) || (isFirst && error.kind !== "failed")) this.#end(error);
    else if (error.code === "NO_SUCH_FILE") this.#report.gone(this.#path);
    else this.#report.failed(error, this.#next());
  }

  #goOn(hash: string, isFirst: boolean): void {
    this.#thread.goOn(hash).catch((error: unknown) => this.#failed(error, isFirst));
  }

  /** Goes back to the previous version if the type check finds errors after a version was accepted. */
  async #backFrom(hash: string, before: string | null, check: TypeCheck | null): Promise<void> {
    const problems = await this.#problems(check);
    if (problems.length === 0 || this.#good !== hash) return;
    this.#good = before;
    this.#report.types(problems, this.#next());
    if (before !== null) this.#goOn(before, false);
  }

  /** Returns the type errors in the files of a version, without errors in other files. */
  async #problems(check: TypeCheck | null): Promise<TypeProblem[]> {
    const { problems, failure } = (await check?.verdict) ?? { problems: [], failure: null };
    if (failure !== null) this.#report.unchecked(failure);
    return problems.filter(({ file }) => this.#files.includes(file));
  }

  #next(): string {
    return this.#good === null
      ? "nothing runs until it is fixed"
      : "the last good version keeps running";
  }
}
