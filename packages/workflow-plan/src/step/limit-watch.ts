import { type WatchedStep, watchLimits } from "@uncaged/workflow/sandbox";
import { limitExceeded } from "./errors.ts";

/** Watches the limits of the commands that a sandbox starts one after the other. */
export class LimitWatch {
  readonly #watched: Pick<WatchedStep, "limits" | "folders" | "disks">;
  readonly #exceeded = new AbortController();
  #watch: { stop(): void } | null = null;

  constructor(watched: Pick<WatchedStep, "limits" | "folders" | "disks">) {
    this.#watched = watched;
  }

  /** Aborted when a limit is exceeded, with an error that names the limit. */
  get exceeded(): AbortSignal {
    return this.#exceeded.signal;
  }

  start(pid: number): void {
    this.stop();
    const onExceeded = (reason: string): void => this.#exceeded.abort(limitExceeded(reason));
    this.#watch = watchLimits({ ...this.#watched, pid, onExceeded });
  }

  stop(): void {
    this.#watch?.stop();
  }
}
