/** The role that a thread runs: the role of the latest open attempt, else the step named by the last event. */
export class RunningRole {
  readonly #open = new Map<string, string | null>();
  #named: { role: string; step: number } | null = null;

  isOpen(attempt: string): boolean {
    return this.#open.has(attempt);
  }

  started(attempt: string, role: string | null): void {
    this.#open.set(attempt, role);
  }

  ended(attempt: string): void {
    this.#open.delete(attempt);
  }

  /** Records an event before the step with this number. */
  event(stepID: string | null, step: number): void {
    if (stepID !== null) this.#named = { role: stepID, step };
  }

  /** Returns the running role; `step` is the number of the next step. */
  at(step: number): string | null {
    const opened = [...this.#open.values()].findLast((role) => role !== null);
    return opened ?? (this.#named?.step === step ? this.#named.role : null);
  }
}
