import { LogReader, type Position, type Status } from "@uncaged/workflow/host";
import { type Feed, sizeOf } from "./feed.ts";
import { type Frame, greeting, heartbeat, heartbeatEveryMs } from "./frame.ts";

/** How much is sent at once, when there is more. */
const pieceBytes = 64 * 1024;

type Bytes = Uint8Array<ArrayBuffer>;

/**
 * One who follows a thread, at its own pace. It holds a position and, at most, a piece of what it reads
 * again: from the feed's frames while they are there, else from the files, up to the feed's head.
 */
export class Listener {
  readonly #feed: Feed;
  readonly #onClose: () => void;
  #position: Position;
  /** The number of the next frame, or null while the files are read again. */
  #next: number | null;
  #replay: LogReader | null = null;
  #first: Bytes | null = greeting;
  #shown: Status | null = null;
  #sentAt = performance.now();
  #over = false;
  #closed = false;
  #waits = false;
  readonly #after: number;

  /**
   * @param after Leaves out the frames up to this `seq`.
   * @throws WorkflowError `BAD_POSITION` (usage).
   */
  constructor(feed: Feed, from: Position, onClose: () => void, after = 0) {
    this.#after = after;
    this.#feed = feed;
    this.#onClose = onClose;
    this.#position = from;
    this.#next = feed.ring.behind(from);
    if (this.#next === null) this.#replay = new LogReader(feed.root, feed.ref, from);
  }

  /** Since when its reader has not taken what it was given, in milliseconds; 0 when it has. */
  get stalledMs(): number {
    return this.#waits ? 0 : performance.now() - this.#sentAt;
  }

  /** What is to be sent next, or null when the stream is over. */
  async next(): Promise<Bytes | null> {
    this.#waits = true;
    for (;;) {
      if (this.#closed) return null;
      const before = this.#position;
      const bytes = this.#take();
      if (bytes) {
        this.#waits = false;
        this.#sentAt = performance.now();
        return bytes;
      }
      if (this.#over) {
        this.close();
        return null;
      }
      // What was passed over tells nothing here, and there may be more: others get their turn.
      if (this.#position === before) await this.#feed.woken();
      else await new Promise(setImmediate);
    }
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#onClose();
  }

  #take(): Bytes | null {
    const first = this.#first;
    this.#first = null;
    if (first || this.#over) return first;
    if (this.#next !== null && !this.#feed.ring.reaches(this.#next)) this.#next = null;
    const before = this.#position;
    const pieces = this.#next === null ? this.#fromFiles() : this.#fromRing(this.#next);
    if (pieces.length > 0) return joined(pieces);
    if (this.#position !== before) return null;
    return this.#next === null ? this.#beat() : this.#takeNotice();
  }

  #fromRing(number: number): Bytes[] {
    const pieces: Bytes[] = [];
    this.#next = number;
    for (let bytes = 0; bytes < pieceBytes && !this.#over; ) {
      const frame = this.#feed.ring.at(this.#next);
      if (!frame) break;
      this.#next += 1;
      bytes += this.#pass(frame, pieces);
    }
    return pieces;
  }

  #fromFiles(): Bytes[] {
    const { ring, root, ref, voice } = this.#feed;
    const pieces: Bytes[] = [];
    this.#replay ??= new LogReader(root, ref, this.#position);
    let bytes = 0;
    for (const item of this.#replay.read(ring.head)) {
      bytes += this.#pass(voice.frame(item), pieces);
      if (bytes >= pieceBytes) break;
    }
    this.#next = ring.behind(this.#position);
    if (this.#next !== null) this.#replay = null;
    return pieces;
  }

  #pass(frame: Frame, pieces: Bytes[]): number {
    const { position, bytes, last, seq } = frame;
    const isNew = seq === undefined || seq > this.#after;
    if (bytes.length > 0 && isNew) pieces.push(bytes);
    this.#position = position;
    this.#over = last;
    return sizeOf(frame);
  }

  /** What stands in no file: that it is gone, how the thread stands, that the server is still here. */
  #takeNotice(): Bytes | null {
    const { failed, removed, status, steps, voice, facts } = this.#feed;
    this.#over = failed || removed || facts.broken !== null || facts.end !== null;
    if (failed) return null;
    if (removed) return voice.removed();
    if (facts.broken) return voice.corrupt();
    if (facts.end) return voice.ended(facts.end, this.#position);
    if (status === null || status === this.#shown) return this.#beat();
    this.#shown = status;
    return voice.status(status, steps) ?? this.#beat();
  }

  #beat(): Bytes | null {
    return performance.now() - this.#sentAt >= heartbeatEveryMs ? heartbeat : null;
  }
}

const joined = (pieces: Bytes[]): Bytes =>
  pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces);
