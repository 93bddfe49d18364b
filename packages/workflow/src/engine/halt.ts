/** Resolves after so many milliseconds, or at once when the signal is aborted. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
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
