import { existsSync } from "node:fs";
import { isAbsolute, relative } from "node:path";
import type { Forked, StartedThread } from "@uncaged/workflow/host";
import { count, elapsed, oneLine, versionText } from "../output/text.ts";
import { errorEnvelope, errorText, recordOf } from "../session/failure.ts";
import type { Session } from "../session/session.ts";
import type { TypeProblem } from "./types.ts";

const shownProblems = 10;

/** Writes the reports of `dev`, but not the steps of threads: lines of text, or with `--json` one object per report. */
export class Report {
  /** Called before a line is written. */
  onWrite: () => void = () => {};
  readonly #session: Session;
  #failure = "";
  #isUnchecked = false;

  constructor(session: Session) {
    this.#session = session;
  }

  built(
    version: { name: string; hash: string; ms: number; files: string[] },
    isNew: boolean,
  ): void {
    this.#failure = "";
    const { terminal } = this.#session.look;
    const { name, hash, ms } = version;
    const text = versionText(name, hash, terminal);
    const same = isNew ? "" : ": no change";
    this.#write(
      { kind: "built", ...version, unchanged: !isNew },
      `${terminal ? "\n" : ""}${this.#dim(`built ${text} in ${elapsed(ms)}`)}${same}`,
    );
  }

  /** Reports a failed build or start. Reports the same failure only once, until another report. */
  failed(thrown: unknown, next = ""): void {
    const error = recordOf(thrown);
    if (error.code === "INTERNAL") throw thrown;
    const text = errorText(error).trimEnd();
    if (text === this.#failure) return;
    this.#failure = text;
    const lines = `${this.#session.paint("red", text)}${next && `\n${next}`}`;
    this.#write({ kind: "failed", ...errorEnvelope(error) }, lines);
  }

  gone(file: string): void {
    const text = `${shownPath(this.#session, file)} is missing: waiting for it`;
    if (text === this.#failure) return;
    this.#failure = text;
    this.#write({ kind: "gone", file }, this.#session.paint("yellow", text));
  }

  types(problems: readonly TypeProblem[], next: string): void {
    const lines = problems
      .slice(0, shownProblems)
      .map(({ file, line, column, message }) =>
        this.#session.paint(
          "red",
          `error: ${shownPath(this.#session, file)}:${line}:${column}: ${oneLine(message)}`,
        ),
      );
    const more = problems.length - lines.length;
    if (more > 0) lines.push(`and ${count(more, "more type error")}`);
    this.#write({ kind: "types", problems }, [...lines, next].join("\n"));
  }

  /** Reports once the reason why the types can't be checked. */
  unchecked(reason: string): void {
    if (this.#isUnchecked) return;
    this.#isUnchecked = true;
    const text = this.#session.paint("yellow", `types are not checked: ${oneLine(reason)}`);
    this.#write({ kind: "unchecked", reason }, text);
  }

  note(kind: string, facts: object, text: string): void {
    this.#write({ kind, ...facts }, text);
  }

  started(thread: StartedThread): void {
    const { threadId } = thread;
    this.#write({ kind: "thread", ...thread, forkFrom: null }, `${this.#dim(threadId)} begins`);
  }

  forked(thread: Forked, of: number, changed: string | null): void {
    const { threadId, forkFrom } = thread;
    const { steps } = forkFrom;
    const kept = steps === 0 ? "begins again" : `keeps ${steps} of ${count(of, "step")}`;
    const why = changed === null ? "" : `: ${oneLine(changed)} has changed`;
    this.#write({ kind: "thread", ...thread, changed }, `${this.#dim(threadId)} ${kept}${why}`);
  }

  readonly #dim = (text: string): string => this.#session.paint("dim", text);

  #write(value: object, text: string): void {
    this.onWrite();
    if (this.#session.json) this.#session.stream(value);
    else this.#session.write(`${text}\n`);
  }
}

/**
 * Returns a file's path relative to the current folder; the absolute path if the file is outside or the folder is gone.
 */
export function shownPath({ cwd }: Pick<Session, "cwd">, file: string): string {
  const path = existsSync(cwd) ? relative(cwd, file) : file;
  return path.startsWith("..") || isAbsolute(path) ? file : path;
}
