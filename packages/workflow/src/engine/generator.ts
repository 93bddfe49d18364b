import type { ThreadInput, WorkflowFn, WorkflowOptions } from "../contract/contract.ts";
import { messageOf, WorkflowError } from "../contract/error.ts";
import { system } from "../system/system.ts";

/** What closing a generator needs of the engine's surroundings. */
export type ClosingParts = {
  /** Runs a function in the thread's own async context. */
  scope: <T>(fn: () => T) => T;
  /** Adds a line to the thread's debug log, which masks secrets. */
  note: (tag: string, content: string) => void;
  /** How long a generator may take to close, in milliseconds. */
  closingMs: number;
};

/** Starts a workflow. @throws WorkflowError `NO_GENERATOR`, and whatever `run` throws. */
export function beginGenerator(
  run: WorkflowFn,
  input: ThreadInput,
  options: WorkflowOptions,
): ReturnType<WorkflowFn> {
  const generator = run(input, options);
  if (typeof generator?.next === "function" && Symbol.asyncIterator in generator) return generator;
  const hint = "write it as: export const run = async function* (input, options) { … }";
  throw WorkflowError.failed("NO_GENERATOR", "run did not return an async generator", hint);
}

/**
 * Closes a generator so that its `finally` runs. `return()` waits behind a pending `next()`, so it is
 * waited for no longer than `closingMs`; what it throws is noted. Never throws.
 */
export async function closeGenerator(
  generator: ReturnType<WorkflowFn>,
  { scope, note, closingMs }: ClosingParts,
): Promise<void> {
  const over = new AbortController();
  const closing = scope(async () => {
    await generator.return({ returnCode: 0, summary: "" });
  }).catch((thrown) => note("C6N4ZR1H", `closing the generator threw: ${messageOf(thrown)}`));
  const late = sleep(closingMs, over.signal).then(() => "late" as const);
  const first = await Promise.race([closing, late]);
  over.abort();
  if (first === "late") note("0WJ5PYBE", `the generator did not close within ${closingMs} ms`);
}

/** Resolves after so many milliseconds, or at once when the signal is aborted. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const cancel = system.clock.after(ms, resolve);
    signal.addEventListener("abort", () => {
      cancel();
      resolve();
    });
  });
}

/** What a wait resolves with when it was halted. */
export const stopped = Symbol("stopped");

/** Lets a thread be stopped while it waits for something that may never come. */
export class Halt {
  #isOn = false;
  #onHalt: (() => void) | null = null;

  /** Ends the current wait, and every later one at once. */
  now(): void {
    this.#isOn = true;
    this.#onHalt?.();
  }

  /**
   * What a promise brings, or `stopped`. There is one wait at a time. It is no `Promise.race` with one
   * promise for the thread's whole life: each race would leave a reaction on it, and a step would cost what
   * is already stored.
   */
  or<T>(promise: Promise<T>): Promise<T | typeof stopped> {
    return new Promise((resolve, reject) => {
      this.#onHalt = () => resolve(stopped);
      promise.then(resolve, reject);
      if (this.#isOn) resolve(stopped);
    });
  }
}
