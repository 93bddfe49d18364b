import {
  isWorkflowError,
  type LogItem,
  showPosition,
  type ThreadRef,
} from "@uncaged/workflow/host";
import { eventBytes, type Told, toldOf } from "./frame.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** An event of a thread's log as the stream of all threads tells it, ready for any number of readers. */
export type LogFrame = {
  name: Told["name"];
  bytes: Bytes;
  /** The place behind it, where it bears one. */
  id: string | null;
};

/** What the stream of all threads tells of an item of a thread's log. */
export function logFrame(ref: ThreadRef, item: LogItem, id: string | null): LogFrame {
  const { name, data } = toldOf(ref, item);
  const { threadId } = ref;
  const position = showPosition(item.position);
  return { name, bytes: eventBytes(name, { threadId, position, ...data }, id ?? undefined), id };
}

/** Whether an error says that a log is not the one that a position was in. */
export const isReplaced = (error: unknown): boolean =>
  isWorkflowError(error) && (error.code === "BAD_POSITION" || error.code === "LOG_REPLACED");

/** Where a cut can't name all that were at work, an id comes once in so many bytes. */
export const namedEvery = 16 * 1024;

const room = 4 * 1024 * 1024;

/** The newest frames of all threads, numbered from 0 on, as many as have room. */
export class LogFrames {
  #frames: LogFrame[] = [];
  #first = 0;
  #held = 0;
  #bytes = 0;
  #unnamed = 0;

  /** The number of the frame that comes next. */
  get next(): number {
    return this.#first + this.#frames.length;
  }

  /** The bytes of all frames that ever were. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The bytes since the last frame that bore an id. */
  get unnamed(): number {
    return this.#unnamed;
  }

  push(frame: LogFrame): void {
    const { length } = frame.bytes;
    this.#frames.push(frame);
    this.#bytes += length;
    this.#held += length;
    this.#unnamed = frame.id === null ? this.#unnamed + length : 0;
    if (this.#held > room * 2) this.#drop();
  }

  at(number: number): LogFrame | undefined {
    return this.#frames[number - this.#first];
  }

  /** Whether the frame with this number is still here, or is yet to come. */
  reaches(number: number): boolean {
    return number >= this.#first;
  }

  /** The number of the frame behind an id, or null when it is not here. */
  behind(id: string): number | null {
    const at = this.#frames.findLastIndex((frame) => frame.id === id);
    return at < 0 ? null : this.#first + at + 1;
  }

  clear(): void {
    this.#first = this.next;
    this.#frames = [];
    this.#held = 0;
  }

  // Seldom, and then many: each time all that stay are moved.
  #drop(): void {
    let gone = 0;
    while (this.#held > room && gone < this.#frames.length - 1) {
      this.#held -= this.#frames[gone]?.bytes.length ?? 0;
      gone += 1;
    }
    this.#frames = this.#frames.slice(gone);
    this.#first += gone;
  }
}
