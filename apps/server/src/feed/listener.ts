import { LogReader, type Position, showPosition, type Status } from "@uncaged/workflow/host";
import type { Feed } from "./feed.ts";
import { endOf, eventBytes, type Frame, frameOf, greeting, heartbeat } from "./frame.ts";

/** How much is sent at once, when there is more. */
const pieceBytes = 64 * 1024;
const beatEveryMs = 15_000;

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

  /** @throws WorkflowError `BAD_POSITION` (usage). */
  constructor(feed: Feed, from: Position, onClose: () => void) {
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
      await this.#feed.woken();
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
    const pieces = this.#next === null ? this.#fromFiles() : this.#fromRing(this.#next);
    if (pieces.length > 0) return joined(pieces);
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
    const { ring, root, ref } = this.#feed;
    const pieces: Bytes[] = [];
    this.#replay ??= new LogReader(root, ref, this.#position);
    let bytes = 0;
    for (const item of this.#replay.read(ring.head)) {
      bytes += this.#pass(frameOf(ref, item), pieces);
      if (bytes >= pieceBytes) break;
    }
    this.#next = ring.behind(this.#position);
    if (this.#next !== null) this.#replay = null;
    return pieces;
  }

  #pass({ position, bytes, last }: Frame, pieces: Bytes[]): number {
    pieces.push(bytes);
    this.#position = position;
    this.#over = last;
    return bytes.length;
  }

  /** What stands in no file: that it is gone, how the thread stands, that the server is still here. */
  #takeNotice(): Bytes | null {
    const { failed, removed, status, steps, ref, facts } = this.#feed;
    this.#over = failed || removed || facts.broken !== null || facts.end !== null;
    if (failed) return null;
    if (removed) return eventBytes("removed", { threadId: ref.threadId });
    if (facts.broken) return eventBytes("end", { status: "corrupt", result: null });
    if (facts.end) return eventBytes("end", endOf(facts.end), showPosition(this.#position));
    if (status === null || status === this.#shown) return this.#beat();
    this.#shown = status;
    return eventBytes("status", { status, steps });
  }

  #beat(): Bytes | null {
    return performance.now() - this.#sentAt >= beatEveryMs ? heartbeat : null;
  }
}

const joined = (pieces: Bytes[]): Bytes =>
  pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces);
