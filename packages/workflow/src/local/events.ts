import { changed, LogTail } from "../log/follow.ts";
import type { InfoRecord } from "../log/record.ts";

/** An event as a follower sees it. */
export type EventItem = { kind: "event"; event: InfoRecord };

/** What an `EventWatch` must know of the thread's log that is being read beside it. */
type Steps = { readonly path: string; readonly count: number; isBehind(): boolean };

const lookEveryMs = 250;

/**
 * The events of a thread, each before the step that it led to: an event stands in the debug log before
 * that step stands in the thread's log, and bears its number.
 */
export class EventWatch {
  readonly #path: string;
  readonly #log: LogTail;
  #lines: Generator<InfoRecord> | null = null;
  #next: InfoRecord | null = null;

  constructor(path: string) {
    this.#path = path;
    this.#log = new LogTail(path);
  }

  /** The new ones up to those of a step: all of them, once the step has been read. */
  *until(number: number): Generator<EventItem> {
    for (;;) {
      const event = (this.#next ??= this.#pull() ?? this.#pull());
      if (!event || (event.step ?? 0) > number) return;
      this.#next = null;
      yield { kind: "event", event };
    }
  }

  /** The new ones as they come, until the thread has a new step or it is time to ask how it stands. */
  async *untilChange(steps: Steps, signal?: AbortSignal): AsyncGenerator<EventItem> {
    const due = performance.now() + lookEveryMs;
    for (let left = lookEveryMs; left > 0 && !signal?.aborted; left = due - performance.now()) {
      await changed([steps.path, this.#path], left, signal);
      yield* this.until(steps.count + 1);
      if (steps.isBehind()) return;
    }
  }

  /** Closes the file. */
  close(): void {
    this.#lines?.return(undefined);
  }

  // A file that was read to its end is opened anew: it may have grown in between.
  #pull(): InfoRecord | null {
    this.#lines ??= this.#new();
    const { value, done } = this.#lines.next();
    if (!done) return value;
    this.#lines = null;
    return null;
  }

  *#new(): Generator<InfoRecord> {
    for (const { value } of this.#log.read()) {
      const record = value as InfoRecord | undefined;
      if (typeof record?.type === "string") yield record;
    }
  }
}
