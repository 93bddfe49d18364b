import type { Write } from "./commit.ts";
import { applyWrite } from "./state.ts";

type Past = { base: unknown; baseSeq: number; writes: Write[]; isStale: boolean };

/**
 * The variables as committed writes make them. Steps that run side by side are committed in another
 * order than they wrote: a write that comes late is put where it belongs, and the variable is made
 * again from the last time that it was written whole.
 */
export class History {
  readonly #variables: Record<string, unknown>;
  // What the writes below have made: values themselves are shared with the log.
  readonly #owned = new WeakSet<object>();
  readonly #pasts = new Map<string, Past>();

  /** @param variables The values to begin with; they are changed. */
  constructor(variables: Record<string, unknown>) {
    this.#variables = variables;
  }

  add(write: Write): void {
    const name = String(write.path[0]);
    let past = this.#pasts.get(name);
    if (!past) {
      past = { base: this.#variables[name], baseSeq: 0, writes: [], isStale: false };
      this.#pasts.set(name, past);
    }
    if (write.seq <= past.baseSeq) return;
    const isLast = write.seq > (past.writes.at(-1)?.seq ?? past.baseSeq);
    if (write.path.length === 1) {
      past.writes = past.writes.filter(({ seq }) => seq > write.seq);
      past.base = write.value;
      past.baseSeq = write.seq;
    } else if (isLast) {
      past.writes.push(write);
    } else {
      const at = past.writes.findLastIndex(({ seq }) => seq < write.seq);
      past.writes.splice(at + 1, 0, write);
    }
    if (isLast && !past.isStale) applyWrite(this.#variables, write, this.#owned);
    else past.isStale = true;
  }

  /** The variables with every write in its place. */
  settled(): Record<string, unknown> {
    for (const [name, past] of this.#pasts) {
      if (!past.isStale) continue;
      this.#variables[name] = past.base;
      for (const write of past.writes) applyWrite(this.#variables, write, this.#owned);
      past.isStale = false;
    }
    return this.#variables;
  }
}
