import {
  allThreads,
  beginning,
  changeOf,
  type LiveRow,
  LogReader,
  newestPosition,
  type Position,
  type Root,
  type ThreadRef,
} from "@uncaged/workflow/host";
import { Changes } from "./changes.ts";
import { type Head, Heads } from "./heads.ts";
import type { LiveThreads } from "./live.ts";
import { isReplaced, LogFrames, logFrame, namedEvery } from "./log-frame.ts";
import type { Wake } from "./wake.ts";

/*
 * Owns: the one reading of all threads' files for all who follow them now, its newest frames, and how
 * far each thread was told of. Does not own: what each follower was sent.
 *
 * L1 The heads are those of the newest frames: who reads the files up to there has what the frames tell.
 * L2 All that was written before the heads' time was told of.
 * L3 It reads while somebody follows, and not otherwise.
 */

const sweepEveryMs = 2_000;
// A sweep may take this part of the time, where there are very many threads.
const sweepShare = 1 / 20;
const sweepAtLeastEveryMs = 10_000;
const restEvery = 256;
const batchBytes = 256 * 1024;
// What tells nothing was read all the same.
const leastBytes = 64;

type Live = ReadonlyMap<string, LiveRow>;

/** The logs of all threads, read as they grow. */
export class Logs {
  readonly root: Root;
  readonly frames = new LogFrames();
  readonly heads = new Heads();
  readonly #live: LiveThreads;
  readonly #wake: Wake;
  readonly #changes: Changes;
  #begun = Promise.withResolvers<void>();
  #followers = 0;
  #turning = false;
  #sweepAt = 0;
  #asking = false;
  #answer: { time: number; live: Live } | null = null;

  constructor(root: Root, live: LiveThreads, wake: Wake) {
    this.root = root;
    this.#live = live;
    this.#wake = wake;
    this.#changes = new Changes(root, { events: true });
  }

  /** Resolves when it is known where all threads stand. */
  get begun(): Promise<void> {
    return this.#begun.promise;
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

  async #keepReading(): Promise<void> {
    this.#changes.open();
    while (this.#followers > 0) {
      this.#ask();
      // A storage root that can't be read now may be read the next time.
      await this.#sweep().catch(() => undefined);
      // Before it was swept once it is not known what was there.
      if (this.heads.time > 0) await this.#readChanged();
      await this.#changes.pause();
    }
    this.#changes.close();
    this.#answer = null;
    this.heads.clear();
    this.frames.clear();
    this.#begun = Promise.withResolvers<void>();
    this.#sweepAt = 0;
    this.#turning = false;
  }

  /** Asks which threads are running. What is stuck answers late, and the others go on meanwhile. */
  #ask(): void {
    if (this.#asking || this.#answer || performance.now() < this.#sweepAt) return;
    this.#asking = true;
    const time = Date.now();
    void this.#live.now().then((live) => {
      this.#asking = false;
      this.#answer = { time, live };
      this.#changes.wake();
    });
  }

  /** Looks at all threads: what was written before it was asked who is running is told of then. */
  async #sweep(): Promise<void> {
    if (!this.#answer) return;
    const { time, live } = this.#answer;
    this.#answer = null;
    const began = performance.now();
    const there = new Set<string>();
    const isFirst = this.heads.time === 0;
    for (const ref of allThreads(this.root)) {
      there.add(ref.threadId);
      this.#lookAt(ref, isFirst);
      if (there.size % restEvery === 0) await new Promise(setImmediate);
    }
    this.heads.keep(there);
    await this.#readChanged();
    const running = [...live.values()].filter(({ status }) => status === "running");
    this.heads.settle(time, new Set(running.map(({ threadId }) => threadId)));
    this.#begun.resolve();
    const now = performance.now();
    const wanted = Math.max(sweepEveryMs, (now - began) / sweepShare);
    this.#sweepAt = now + Math.min(wanted, sweepAtLeastEveryMs);
  }

  /** A thread that is new is told from its beginning, but for those that were there at first. */
  #lookAt(ref: ThreadRef, isFirst: boolean): void {
    const change = changeOf(this.root, ref);
    if (!change) return;
    const known = this.heads.get(ref.threadId);
    const head = known ?? this.heads.add(ref, isFirst ? this.#newest(ref) : beginning);
    const isNews = known ? known.size !== change.size : !isFirst;
    if (isNews) this.#changes.add(ref);
    head.size = change.size;
    head.changedAt = Math.max(head.changedAt, change.changedAt);
  }

  #newest(ref: ThreadRef): Position {
    try {
      return newestPosition(this.root, ref);
    } catch {
      // What can't be read is told when it can be.
      return beginning;
    }
  }

  /** Tells all that is new of those that have changed. */
  async #readChanged(): Promise<void> {
    let size = 0;
    for (const ref of this.#changes.take()) {
      const head = this.heads.get(ref.threadId) ?? this.heads.add(ref, beginning);
      for (let isMore = true; isMore; ) {
        const before = this.frames.bytes;
        isMore = this.#read(head);
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
  #read(head: Head): boolean {
    const end = this.frames.bytes + batchBytes;
    try {
      head.reader ??= new LogReader(this.root, head.ref, head.position);
      for (const item of head.reader.read()) {
        this.heads.tell(head, item.position);
        const isNamed = this.heads.isWhole || this.frames.unnamed >= namedEvery;
        this.frames.push(logFrame(head.ref, item, isNamed ? this.heads.cut : null));
        if (this.frames.bytes >= end) return true;
      }
      if (head.reader.facts.end) head.reader = null;
      return false;
    } catch (error) {
      return restart(head, error);
    }
  }
}

/** A log that was replaced is told from its beginning; one that can't be read, when it can. */
function restart(head: Head, error: unknown): boolean {
  head.reader = null;
  if (!isReplaced(error) || head.position === beginning) return false;
  head.position = beginning;
  return true;
}
