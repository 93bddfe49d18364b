import { isWorkflowError, toErrorRecord } from "../contract/error.ts";
import type { ThreadRef } from "../record/thread.ts";
import type { ThreadStore } from "../store/store.ts";
import { system } from "../system/system.ts";

/**
 * `until`: time of the next attempt, by the monotonic clock. `isKeptOut`: the store postpones the thread until then.
 */
type Failure = { tries: number; code: string; until: number; isKeptOut: boolean };

const [firstRetryMs, longestRetryMs] = [1_000, 60_000];
const mostFailures = 10_000;

/** Error codes of threads that another process drives or has ended. */
const notOurs: ReadonlySet<string> = new Set([
  ...["ALREADY_RUNNING", "THREAD_ENDED", "THREAD_NOT_FOUND", "THREAD_MOVED", "WORKER_CLOSING"],
]);

/** A worker's failures to drive threads. Each failure postpones its thread for longer. */
export class Failures {
  readonly #store: ThreadStore;
  readonly #report: (line: string) => void;
  readonly #failures = new Map<string, Failure>();
  #problem = "";

  /** @param report Receives a line for each thread and error code, and a line when the store stops answering. */
  constructor(store: ThreadStore, report: (line: string) => void) {
    this.#store = store;
    this.#report = report;
  }

  /** Returns whether the next attempt at a thread is due. */
  isOver(threadId: string): boolean {
    return (this.#failures.get(threadId)?.until ?? 0) <= system.clock.elapsed();
  }

  /** Returns whether a thread that the store lists as runnable may be driven. */
  mayDrive(threadId: string): boolean {
    return this.#failures.get(threadId)?.isKeptOut !== false || this.isOver(threadId);
  }

  /** Forgets the failures of a thread. */
  forget(threadId: string): void {
    this.#failures.delete(threadId);
  }

  /** Postpones a thread that can't be driven, and reports it once per error code. */
  async add(ref: ThreadRef, error: unknown): Promise<void> {
    const { code, message, hint } = toErrorRecord(error);
    if (isWorkflowError(error) && notOurs.has(code)) return;
    const before = this.#failures.get(ref.threadId);
    // An unreachable store is not a failure of the thread.
    if (!(await this.#postpone(ref, code)) || before?.code === code) return;
    const how = hint === undefined ? "" : `; hint: ${hint}`;
    this.#report(`${ref.threadId} can't be driven: ${message} (${code})${how}`);
  }

  /** Postpones a thread whose record the store rejected. */
  async addRefused(ref: ThreadRef, error: unknown): Promise<void> {
    this.silent(error);
    await this.#postpone(ref, toErrorRecord(error).code);
  }

  /** Reports that the store does not answer, once until it answers again. */
  silent(error: unknown): void {
    const { code, message } = toErrorRecord(error);
    if (this.#problem === code) return;
    this.#problem = code;
    this.#report(`the store does not answer: ${message} (${code})`);
  }

  /** Records that the store answers. */
  answers(): void {
    this.#problem = "";
  }

  /** Postpones a thread in the store. Returns false when the store did not answer. */
  async #postpone(ref: ThreadRef, code: string): Promise<boolean> {
    const tries = this.#failures.get(ref.threadId)?.tries ?? 0;
    const ms = Math.min(longestRetryMs, firstRetryMs * 2 ** tries);
    if (this.#failures.size >= mostFailures) this.#failures.clear();
    const until = system.clock.elapsed() + ms;
    const failure = { tries: tries + 1, code, until, isKeptOut: false };
    this.#failures.set(ref.threadId, failure);
    try {
      await this.#store.postpone(ref, system.clock.now() + ms);
      failure.isKeptOut = true;
    } catch (problem) {
      this.silent(problem);
    }
    return failure.isKeptOut;
  }
}
