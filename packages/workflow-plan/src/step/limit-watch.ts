import { type WatchedStep, watchLimits } from "@uncaged/workflow/sandbox";
import { ExecutorError } from "../error/error.ts";

/** The limits of what a sandbox starts, and the folders in which its files count. */
export type Watched = Pick<WatchedStep, "limits" | "folders" | "disks">;

/** Watches the limits of the commands that one attempt starts, one after the other. */
export class LimitWatch {
  readonly #watched: Watched;
  readonly #subject: string;
  readonly #exceeded = new AbortController();
  #watch: { stop(): void } | null = null;

  constructor(watched: Watched, subject: "the step" | "the check") {
    this.#watched = watched;
    this.#subject = subject;
  }

  /** Aborted when a limit is exceeded, with an error that names it. */
  get exceeded(): AbortSignal {
    return this.#exceeded.signal;
  }

  start(pid: number): void {
    this.stop();
    const onExceeded = (reason: string): void =>
      this.#exceeded.abort(new ExecutorError(`${this.#subject} ${reason}`));
    this.#watch = watchLimits({ ...this.#watched, pid, onExceeded });
  }

  stop(): void {
    this.#watch?.stop();
  }
}
