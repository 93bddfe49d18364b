import {
  beginning,
  LogReader,
  type Position,
  positionAt,
  type ThreadRef,
} from "@uncaged/workflow/host";
import { type Cut, type Place, showCut, showWay, slackMs, type Way } from "./cut.ts";
import type { Heads } from "./heads.ts";
import { isReplaced, type LogFrame, logFrame, namedEvery } from "./log-frame.ts";
import type { Logs } from "./logs.ts";

/** How much is read at once, and how many threads are looked at, before others get their turn. */
const pieceBytes = 64 * 1024;
const pieceThreads = 32;

/**
 * What one who comes back has missed, read from the files again: of each thread that has changed since
 * the place where it was, in the order of their ids, up to a cut. Each frame's id says how far on the way
 * it is, for it may be interrupted again.
 */
export class Replay {
  /** The cut that it leads to, as text. */
  readonly goal: string;
  /** The number of the frame behind the goal, when that is the newest cut. */
  readonly number: number | null;
  readonly #logs: Logs;
  readonly #cut: Cut;
  readonly #way: Way | null;
  readonly #from: string;
  readonly #isWhole: boolean;
  readonly #threads: ReturnType<Heads["changedSince"]>;
  #at = 0;
  #now: { reader: LogReader; to: Position } | null = null;
  #unnamed = 0;

  /** From a place to the newest cut; from one that is on its way to a cut, to that. */
  constructor(logs: Logs, { cut, way }: Place) {
    this.#logs = logs;
    // What an id from the future means can't be known.
    this.#cut = { ...cut, time: Math.min(cut.time, Date.now()) };
    this.#way = way;
    this.#from = showCut(cut);
    this.goal = way ? showCut(way.to) : logs.heads.cut;
    this.number = way ? null : logs.frames.next;
    this.#isWhole = cut.whole && (way ? way.to.whole : logs.heads.isWhole);
    this.#threads = logs.heads.changedSince(this.#cut.time - slackMs);
  }

  get isOver(): boolean {
    return this.#at >= this.#threads.length;
  }

  /** The next frames, as many as make a piece; none where there was nothing, and there may be more. */
  piece(): LogFrame[] {
    const frames: LogFrame[] = [];
    let bytes = 0;
    for (let looked = 0; looked < pieceThreads && bytes < pieceBytes; looked += 1) {
      const thread = this.#threads[this.#at];
      if (!thread) break;
      try {
        bytes += this.#readOn(thread.ref, thread.newest, frames, pieceBytes - bytes);
      } catch {
        // What can't be read now is told when it can be, by the frames that come then.
        this.#passOn();
      }
    }
    return frames;
  }

  #passOn(): void {
    this.#at += 1;
    this.#now = null;
  }

  #readOn(ref: ThreadRef, newest: Position, frames: LogFrame[], most: number): number {
    this.#now ??= this.#open(ref, newest);
    if (!this.#now) {
      this.#passOn();
      return 0;
    }
    const { reader, to } = this.#now;
    let bytes = 0;
    for (const item of reader.read(to)) {
      const frame = logFrame(ref, item, this.#idOf(ref, item.position));
      this.#unnamed = frame.id === null ? this.#unnamed + frame.bytes.length : 0;
      bytes += frame.bytes.length;
      frames.push(frame);
      if (bytes >= most) return bytes;
    }
    this.#passOn();
    return bytes;
  }

  #open(ref: ThreadRef, newest: Position): { reader: LogReader; to: Position } | null {
    const way = this.#way;
    if (way && ref.threadId < way.threadId) return null;
    const isHere = way?.threadId === ref.threadId;
    const from = isHere ? way.position : this.#positionIn(this.#cut, ref);
    const to = way ? this.#positionIn(way.to, ref) : newest;
    if (from.data === to.data && from.info === to.info) return null;
    return { reader: this.#readerFrom(ref, from), to };
  }

  #positionIn({ time, whole, told }: Cut, ref: ThreadRef): Position {
    const { root } = this.#logs;
    return told.get(ref.threadId) ?? positionAt(root, ref, time - slackMs, { steps: !whole });
  }

  #readerFrom(ref: ThreadRef, from: Position): LogReader {
    try {
      return new LogReader(this.#logs.root, ref, from);
    } catch (error) {
      if (!isReplaced(error)) throw error;
      return new LogReader(this.#logs.root, ref, beginning);
    }
  }

  #idOf({ threadId }: ThreadRef, position: Position): string | null {
    if (!this.#isWhole && this.#unnamed < namedEvery) return null;
    return showWay(this.#from, this.goal, threadId, position);
  }
}
