import {
  allThreads,
  beginning,
  changeOf,
  LogReader,
  newestPosition,
  type Position,
  type Root,
  StoreWatch,
  type ThreadRef,
} from "@uncaged/workflow/host";
import { type Cut, mostNamed, showCut, slackMs } from "./cut.ts";
import type { LiveThreads } from "./live.ts";
import { isReplaced, LogFrames, logFrame, namedEvery } from "./log-frame.ts";
import type { Wake } from "./wake.ts";

/*
 * Owns: the one reading of all threads' files for all who follow them now, its newest frames, and the
 * cut behind them. Does not own: what each follower was sent.
 *
 * L1 What was written before the time of its cut was told of, and of the threads that were at work since
 *    the cut has the positions.
 * L2 A thread's position is that of its newest frame, or is what the thread had when the reading began.
 * L3 It reads while somebody follows, and not otherwise.
 */

const mostOftenMs = 100;
const lookEveryMs = 500;
const sweepEveryMs = 2_000;
// A sweep may take this part of the time, however many threads there are.
const sweepShare = 1 / 20;
const restEvery = 256;
const batchBytes = 256 * 1024;
// What tells nothing was read all the same.
const leastBytes = 64;

/** A thread whose files have changed, and how far it was told of. */
type Changed = { readonly ref: ThreadRef; readonly newest: Position };

/** A thread as far as it was told of. */
type Told = {
  readonly ref: ThreadRef;
  position: Position;
  /** When its files changed last, or it was told of last. */
  changedAt: number;
  /** What its files had in all when they were looked at. */
  size: number;
  running: boolean;
  reader: LogReader | null;
};

/** The logs of all threads, read as they grow. */
export class Logs {
  readonly root: Root;
  readonly frames = new LogFrames();
  readonly #live: LiveThreads;
  readonly #wake: Wake;
  readonly #threads = new Map<string, Told>();
  /** Those that a cut must name: they are at work, or were a moment ago. The one told of last is last. */
  readonly #busy = new Set<Told>();
  readonly #changed = new Map<string, ThreadRef>();
  #change = Promise.withResolvers<void>();
  #begun = Promise.withResolvers<void>();
  #followers = 0;
  #turning = false;
  #time = 0;
  #text: string | null = null;
  #asked: { time: number; number: number; changed: readonly Changed[] } | null = null;

  constructor(root: Root, live: LiveThreads, wake: Wake) {
    this.root = root;
    this.#live = live;
    this.#wake = wake;
  }

  /** Resolves when it is known where all threads stand. */
  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  /** The cut behind the newest frame, as text. */
  get cut(): string {
    return (this.#text ??= showCut(this.#cutNow()));
  }

  /** Begins to follow; ends with the function that it gives. */
  follow(): () => void {
    this.#followers += 1;
    if (!this.#turning) {
      this.#turning = true;
      void this.#keepReading();
    }
    return () => {
      this.#followers -= 1;
    };
  }

  /** Whether the cut names all that were at work. */
  get isWhole(): boolean {
    return this.#busy.size <= mostNamed;
  }

  /** The threads whose files have changed since a time, in the order of their ids. */
  changedSince(time: number): readonly Changed[] {
    const number = this.frames.next;
    // Many come back together, and with the same id.
    if (this.#asked?.time !== time || this.#asked.number !== number) {
      const threads = [...this.#threads.values()].filter(({ changedAt }) => changedAt >= time);
      threads.sort((a, b) => (a.ref.threadId < b.ref.threadId ? -1 : 1));
      const changed = threads.map(({ ref, position }) => ({ ref, newest: position }));
      this.#asked = { time, number, changed };
    }
    return this.#asked.changed;
  }

  #cutNow(): Cut {
    const named = [...this.#busy].slice(-mostNamed);
    return {
      time: this.#time,
      whole: this.isWhole,
      told: new Map(named.map(({ ref, position }) => [ref.threadId, position])),
    };
  }

  async #keepReading(): Promise<void> {
    let watch: StoreWatch | null = null;
    let sweepAt = 0;
    while (this.#followers > 0) {
      this.#change = Promise.withResolvers<void>();
      watch ??= new StoreWatch(this.root, (ref) => this.#noteChange(ref), { events: true });
      watch.ensure();
      const began = performance.now();
      if (began >= sweepAt) {
        // A storage root that can't be read now may be read the next time.
        await this.#sweep().catch(() => undefined);
        const now = performance.now();
        sweepAt = now + Math.max(sweepEveryMs, (now - began) / sweepShare);
      }
      // Before the first sweep is through it is not known what was there.
      if (this.#time > 0) await this.#readChanged();
      await Bun.sleep(mostOftenMs);
      await Promise.race([this.#change.promise, Bun.sleep(lookEveryMs)]);
    }
    watch?.close();
    this.#forget();
  }

  #forget(): void {
    this.#threads.clear();
    this.#busy.clear();
    this.#changed.clear();
    this.frames.clear();
    this.#text = null;
    this.#asked = null;
    this.#time = 0;
    this.#begun = Promise.withResolvers<void>();
    this.#turning = false;
  }

  #noteChange(ref: ThreadRef): void {
    this.#changed.set(ref.threadId, ref);
    this.#change.resolve();
  }

  /** Looks at all threads. What was written before it began is told of when it is through. */
  async #sweep(): Promise<void> {
    const time = Date.now();
    const isFirst = this.#time === 0;
    const live = await this.#live.now();
    const there = new Set<string>();
    for (const ref of allThreads(this.root)) {
      there.add(ref.threadId);
      if (there.size % restEvery === 0) await new Promise(setImmediate);
      const thread = this.#lookAt(ref, isFirst);
      if (!thread) continue;
      if (thread.changedAt >= time - slackMs) this.#busy.add(thread);
      thread.running = live.get(ref.threadId)?.status === "running";
      if (thread.running) this.#busy.add(thread);
    }
    for (const [threadId, thread] of this.#threads) {
      if (there.has(threadId)) continue;
      this.#threads.delete(threadId);
      this.#busy.delete(thread);
    }
    await this.#readChanged();
    this.#time = time;
    for (const thread of this.#busy) {
      if (!thread.running && thread.changedAt < time - slackMs) this.#busy.delete(thread);
    }
    this.#text = null;
    if (isFirst) this.#begun.resolve();
  }

  /** A thread that is new is told from its beginning, but for those that were there at first. */
  #lookAt(ref: ThreadRef, isFirst: boolean): Told | null {
    const change = changeOf(this.root, ref);
    if (!change) return null;
    const known = this.#threads.get(ref.threadId);
    const thread = known ?? this.#add(ref, isFirst ? newestPosition(this.root, ref) : beginning);
    const isNew = !known && !isFirst;
    if (isNew || (known && known.size !== change.size)) this.#changed.set(ref.threadId, ref);
    thread.size = change.size;
    thread.changedAt = Math.max(thread.changedAt, change.changedAt);
    return thread;
  }

  #add(ref: ThreadRef, position: Position): Told {
    const thread = { ref, position, changedAt: 0, size: 0, running: false, reader: null };
    this.#threads.set(ref.threadId, thread);
    return thread;
  }

  /** Tells all that is new of those that have changed. */
  async #readChanged(): Promise<void> {
    const refs = [...this.#changed.values()];
    this.#changed.clear();
    let size = 0;
    for (const ref of refs) {
      const thread = this.#threads.get(ref.threadId) ?? this.#add(ref, beginning);
      for (let isMore = true; isMore; ) {
        const before = this.frames.bytes;
        isMore = this.#read(thread);
        size += this.frames.bytes - before + leastBytes;
        if (size < batchBytes) continue;
        size = 0;
        this.#wake.ring();
        await new Promise(setImmediate);
      }
    }
    if (size > 0) this.#wake.ring();
  }

  /** Makes frames of what is new of a thread, as far as one batch goes: whether there may be more. */
  #read(thread: Told): boolean {
    const end = this.frames.bytes + batchBytes;
    try {
      thread.reader ??= new LogReader(this.root, thread.ref, thread.position);
      for (const item of thread.reader.read()) {
        thread.position = item.position;
        thread.changedAt = Date.now();
        this.#busy.delete(thread);
        this.#busy.add(thread);
        this.#text = null;
        const isNamed = this.isWhole || this.frames.unnamed >= namedEvery;
        this.frames.push(logFrame(thread.ref, item, isNamed ? this.cut : null));
        if (this.frames.bytes >= end) return true;
      }
      if (thread.reader.facts.end) thread.reader = null;
      return false;
    } catch (error) {
      return this.#restart(thread, error);
    }
  }

  /** A log that was replaced is told from its beginning; one that can't be read, when it can. */
  #restart(thread: Told, error: unknown): boolean {
    thread.reader = null;
    if (!isReplaced(error) || thread.position === beginning) return false;
    thread.position = beginning;
    return true;
  }
}
