import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import {
  failureOf,
  fixtureOf,
  type Host,
  openLocalHost,
  type ThreadRef,
  type ThreadView,
} from "@uncaged/workflow/host";
import { copyThread, copyVersion, drivenToEnd, makeTemporary } from "@uncaged/workflow/internal";
import { needsLive } from "./errors.ts";

/** The thread to run again. `keep` is the number of its steps to keep; `isLive` runs its roles. */
export type TrialOptions = {
  host: Host;
  ref: ThreadRef;
  keep: number;
  isLive: boolean;
  env: Record<string, string>;
  signal: AbortSignal;
};

/** A temporary storage root, in which a thread runs again on several versions. */
export class Trial {
  readonly root: string;
  readonly #folder: string;
  readonly #local: Host;
  readonly #recorded: ThreadView;
  readonly #options: TrialOptions;

  private constructor(folder: string, recorded: ThreadView, options: TrialOptions) {
    this.#folder = folder;
    this.root = join(folder, "root");
    this.#local = openLocalHost({ path: this.root, env: options.env });
    this.#recorded = recorded;
    this.#options = options;
  }

  static async open(recorded: ThreadView, options: TrialOptions): Promise<Trial> {
    const trial = new Trial(makeTemporary("uncaged-bisect-"), recorded, options);
    await copyThread(options.host, options.ref, trial.root);
    return trial;
  }

  /**
   * Runs the thread on a version, to its end or to a question without a recorded answer. Returns null if the signal was
   * aborted.
   *
   * @throws WorkflowError `FIXTURE_UNSUPPORTED`, the errors of `fork`.
   */
  async run(version: string): Promise<ThreadView | null> {
    const { env, host, isLive, keep, ref, signal } = this.#options;
    const fixture = fixtureOf(this.#recorded);
    await copyVersion(host, version, this.#local);
    const { threadId, hash } = await this.#local.fork(ref, {
      ...{ env, keep: { atStep: keep }, on: version, name: this.#recorded.workflow },
      ...(!isLive && { options: { fixture } }),
    });
    const driven = await drivenToEnd(this.#local, { threadId, hash }, { env, fixture, signal });
    if (driven === null) return null;
    if (failureOf(driven.view)?.code === "FIXTURE_UNSUPPORTED") throw needsLive(version);
    return driven.view;
  }

  /** Ends the workers of the root and removes it. */
  async close(): Promise<void> {
    const workers = (await this.#local.workers()).flatMap(({ pid }) => pid ?? []);
    for (const pid of workers) end(pid);
    while (workers.some(isAlive)) await pause(20);
    await this.#local.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The process has ended meanwhile.
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
