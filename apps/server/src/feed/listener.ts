import { LogReader, type Position, showPosition, type Status } from "@uncaged/workflow/host";
import type { Feed } from "./feed.ts";
import { endOf, eventBytes, frameOf, greeting, heartbeat } from "./frame.ts";

const replayBytes = 128 * 1024;
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
  #pending: Bytes[] = [greeting];
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
    const ready = this.#pending.shift() ?? null;
    if (ready || this.#over) return ready;
    if (this.#next !== null && !this.#feed.ring.reaches(this.#next)) this.#next = null;
    return this.#next === null ? this.#takeFromFiles() : this.#takeFrame(this.#next);
  }

  #takeFrame(number: number): Bytes | null {
    const frame = this.#feed.ring.at(number);
    if (!frame) return this.#takeNotice();
    this.#next = number + 1;
    this.#position = frame.position;
    this.#over = frame.last;
    return frame.bytes;
  }

  #takeFromFiles(): Bytes | null {
    const { ring, root, ref } = this.#feed;
    this.#replay ??= new LogReader(root, ref, this.#position);
    let bytes = 0;
    for (const item of this.#replay.read(ring.head)) {
      const frame = frameOf(ref, item);
      this.#pending.push(frame.bytes);
      this.#position = frame.position;
      this.#over = frame.last;
      bytes += frame.bytes.length;
      if (bytes >= replayBytes) break;
    }
    this.#next = ring.behind(this.#position);
    if (this.#next !== null) this.#replay = null;
    return this.#pending.shift() ?? (this.#next === null ? this.#beat() : this.#takeNotice());
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
