import { system } from "./system.ts";

/** Into how many parts a time is divided, and how many times as long a process has that waits for its disk. */
const parts = 10;
const diskPatience = 6;

/**
 * Acts once a process had so many milliseconds for what is expected of it, unless the function that it returns is called
 * before. What the machine takes is not the process's fault: when everything was stopped, and the clock has leapt, that
 * counts as a tenth of the time at most; and time in which the process waits for its disk counts as a sixth.
 */
export function whenOverdue(
  ms: number,
  processOf: () => number | null,
  act: () => void,
): () => void {
  let left = parts * diskPatience;
  const look = () => {
    const pid = processOf();
    left -= pid !== null && system.processes.waitsForDisk(pid) ? 1 : diskPatience;
    if (left <= 0) act();
    else cancel = system.clock.after(ms / parts, look);
  };
  let cancel = system.clock.after(ms / parts, look);
  return () => cancel();
}

/** As {@link whenOverdue}, for who looks himself from time to time. To be ended when nothing is expected any more. */
export class Overdue {
  readonly end: () => void;
  #is = false;

  constructor(ms: number, processOf: () => number | null) {
    this.end = whenOverdue(ms, processOf, () => (this.#is = true));
  }

  get is(): boolean {
    return this.#is;
  }
}
