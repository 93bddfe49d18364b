import { INPUT, WAIT } from "@uncaged/workflow";
import {
  failureOf,
  fixtureOf,
  type Host,
  openLocalHost,
  type ThreadRef,
  type ThreadView,
} from "@uncaged/workflow/host";
import { copyThread, copyVersion, drivenToEnd, HeldFolder } from "@uncaged/workflow/internal";
import { needsLive } from "./errors.ts";
import { endWorkers, rootIn } from "./folder.ts";

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
  readonly #folder: HeldFolder;
  readonly #local: Host;
  readonly #recorded: ThreadView;
  readonly #options: TrialOptions;

  private constructor(folder: HeldFolder, recorded: ThreadView, options: TrialOptions) {
    this.root = rootIn(folder.path);
    this.#folder = folder;
    this.#local = openLocalHost({ path: this.root, env: options.env });
    this.#recorded = recorded;
    this.#options = options;
  }

  static async open(recorded: ThreadView, options: TrialOptions): Promise<Trial> {
    const folder = await HeldFolder.open("uncaged-bisect-", endWorkers);
    const trial = new Trial(folder, recorded, options);
    try {
      await copyThread(options.host, options.ref, trial.root);
    } catch (error) {
      await trial.close();
      throw error;
    }
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
      ...{
        env,
        keep: { atStep: keptIn(this.#recorded, keep) },
        on: version,
        name: this.#recorded.workflow,
      },
      ...(!isLive && { options: { fixture } }),
    });
    const driven = await drivenToEnd(this.#local, { threadId, hash }, { env, fixture, signal });
    if (driven === null) return null;
    if (failureOf(driven.view)?.code === "FIXTURE_UNSUPPORTED") throw needsLive(version);
    return driven.view;
  }

  /** Ends the workers of the root and removes it. */
  async close(): Promise<void> {
    await this.#local.close();
    await this.#folder.remove();
  }
}

/** Returns the number of steps to keep: a kept question has its recorded answer, and a kept sleep is over. */
function keptIn({ steps }: ThreadView, keep: number): number {
  const isAsked = steps[keep - 1]?.role === WAIT && steps[keep]?.role === INPUT;
  return isAsked ? keep + 1 : keep;
}
