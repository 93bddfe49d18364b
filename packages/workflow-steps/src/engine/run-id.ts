let last = 0;

/** An id for a run without a thread, `wf_<ms>`: never the same twice in a process. */
export function newRunID(now: number): string {
  last = Math.max(now, last + 1);
  return `wf_${last}`;
}
