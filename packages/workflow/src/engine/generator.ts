import type { ThreadInput, WorkflowFn, WorkflowOptions } from "../contract/contract.ts";
import { withRecorded } from "../durable/recorded.ts";
import { system } from "../system/system.ts";
import { noGenerator } from "./errors.ts";

/** The generator of a workflow. */
export type Generator = ReturnType<WorkflowFn>;

/** Dependencies of closing a generator. */
export type ClosingParts = {
  /** Runs a function and its async work in the thread's own async context. */
  scope: <T>(fn: () => T) => T;
  /** Adds a line to the thread's debug log, which masks secrets. */
  note: (tag: string, content: string) => void;
  /** Formats a thrown value on one line, with the author's line. */
  describe: (thrown: unknown) => string;
  /** Timeout for closing a generator, in milliseconds. */
  closingMs: number;
};

/** Starts a workflow. @throws WorkflowError `NO_GENERATOR`, the errors of `withRecorded`, and any error of `run`. */
export function beginGenerator(
  run: WorkflowFn,
  input: ThreadInput,
  options: WorkflowOptions,
): Generator {
  const generator = run(input, withRecorded(run, options));
  if (typeof generator?.next === "function" && Symbol.asyncIterator in generator) return generator;
  throw noGenerator();
}

/**
 * Closes a generator so that its `finally` blocks run. Waits for at most `closingMs`, because `return()` waits behind a
 * pending `next()`. Logs errors of `return()`. Never throws.
 */
export async function closeGenerator(
  generator: Generator,
  { scope, note, describe, closingMs }: ClosingParts,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<"closed" | "late">();
  const cancel = system.clock.after(closingMs, () => resolve("late"));
  const close = async () => {
    try {
      const result = { returnCode: 0, summary: "" };
      await scope(() => generator.return(result));
    } catch (thrown) {
      note("C6N4ZR1H", `closing the generator threw: ${describe(thrown)}`);
    }
    resolve("closed");
  };
  void close();
  if ((await promise) === "late") {
    note("0WJ5PYBE", `the generator did not close within ${closingMs} ms`);
  } else cancel();
}

/** Resolves after `ms` milliseconds, or at once when the signal is aborted. */
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

/** Result of a halted wait. */
export const stopped = Symbol("stopped");

/** Ends the wait of a thread for a promise that may never settle. */
export class Halt {
  #isOn = false;
  #onHalt: (() => void) | null = null;

  /** Ends the current wait, and makes every later wait return at once. */
  now(): void {
    this.#isOn = true;
    this.#onHalt?.();
  }

  /**
   * Resolves with the value of a promise, or `stopped`. One wait at a time. Does not use `Promise.race` with one
   * promise for the thread's whole life: that promise would keep a reaction of each race, and the cost of a step would
   * grow with the log.
   */
  or<T>(promise: Promise<T>): Promise<T | typeof stopped> {
    return new Promise<T | typeof stopped>((resolve, reject) => {
      this.#onHalt = () => resolve(stopped);
      void promise.then(resolve, reject);
      if (this.#isOn) resolve(stopped);
    });
  }
}
