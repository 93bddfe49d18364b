import type { LogReader, Position, ThreadRef } from "@uncaged/workflow/host";
import { mostNamed, showCut, slackMs } from "./cut.ts";

/** How far a thread was told of. */
export type Head = {
  readonly ref: ThreadRef;
  position: Position;
  /** When its files changed last, or it was told of last. */
  changedAt: number;
  /** What its files had in all when they were looked at last. */
  size: number;
  reader: LogReader | null;
};

/** A thread whose files have changed, and how far it was told of then. */
type Changed = { readonly ref: ThreadRef; readonly newest: Position };

/** How far all threads were told of, and the cut that says so. */
export class Heads {
  readonly #heads = new Map<string, Head>();
  /** Those that a cut must name; the one that was told of last is last. */
  readonly #busy = new Set<Head>();
  #time = 0;
  #text: string | null = null;
  #asked: { cut: string; time: number; changed: readonly Changed[] } | null = null;

  /** Up to when all that was written was told of; 0 before that is known for the first time. */
  get time(): number {
    return this.#time;
  }

  /** Whether the cut names all threads that are at work. */
  get isWhole(): boolean {
    return this.#busy.size <= mostNamed;
  }

  /** The cut, as text. */
  get cut(): string {
    if (this.#text !== null) return this.#text;
    const named = [...this.#busy].slice(-mostNamed);
    this.#text = showCut({
      time: this.#time,
      whole: this.isWhole,
      told: new Map(named.map(({ ref, position }) => [ref.threadId, position])),
    });
    return this.#text;
  }

  get(threadId: string): Head | undefined {
    return this.#heads.get(threadId);
  }

  add(ref: ThreadRef, position: Position): Head {
    const head = { ref, position, changedAt: 0, size: 0, reader: null };
    this.#heads.set(ref.threadId, head);
    return head;
  }

  /** Takes up that a thread was told of. */
  tell(head: Head, position: Position): void {
    head.position = position;
    head.changedAt = Date.now();
    this.#busy.delete(head);
    this.#busy.add(head);
    this.#text = null;
  }

  /** Forgets the threads that are not there any more. */
  keep(there: ReadonlySet<string>): void {
    for (const [threadId, head] of this.#heads) {
      if (there.has(threadId)) continue;
      this.#heads.delete(threadId);
      this.#busy.delete(head);
    }
  }

  /** Takes up that all that was written before a time was told of, and who was running then. */
  settle(time: number, running: ReadonlySet<string>): void {
    for (const [threadId, head] of this.#heads) {
      if (running.has(threadId) || head.changedAt >= time - slackMs) this.#busy.add(head);
      else this.#busy.delete(head);
    }
    this.#time = time;
    this.#text = null;
  }

  /** The threads whose files have changed since a time, in the order of their ids. */
  changedSince(time: number): readonly Changed[] {
    const { cut } = this;
    // Many come back together, and with the same id.
    if (this.#asked?.time !== time || this.#asked.cut !== cut) {
      const heads = [...this.#heads.values()].filter(({ changedAt }) => changedAt >= time);
      heads.sort((a, b) => (a.ref.threadId < b.ref.threadId ? -1 : 1));
      const changed = heads.map(({ ref, position }) => ({ ref, newest: position }));
      this.#asked = { cut, time, changed };
    }
    return this.#asked.changed;
  }

  clear(): void {
    this.#heads.clear();
    this.#busy.clear();
    this.#time = 0;
    this.#text = null;
    this.#asked = null;
  }
}
