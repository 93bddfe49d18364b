/** Calls a function at a set time. A second call of `set` replaces the time. */
export class Timer {
  readonly #onTime: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(onTime: () => void) {
    this.#onTime = onTime;
  }

  /** Sets the time, in milliseconds since the epoch. */
  set(at: number): void {
    this.stop();
    this.#timer = setTimeout(this.#onTime, Math.max(0, at - Date.now()));
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
