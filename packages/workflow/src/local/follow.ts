import type { Step } from "../contract/contract.ts";
import { dataPath, infoPath, type Root } from "../storage/paths.ts";
import { changed, LogTail } from "../log/follow.ts";
import { type EndRecord, faultOfRecord, isEnd } from "../log/record.ts";
import { isMoving, statusOf } from "../thread/status.ts";
import type { Status, ThreadJson, ThreadRef } from "../thread/thread.ts";
import { EventWatch, type EventItem } from "./events.ts";
import { LiveLookup } from "./live.ts";
import { readThread } from "./threads.ts";

/** What a follower sees. `number` counts the steps from 1. */
export type FollowItem =
  | { kind: "step"; number: number; step: Step }
  | EventItem
  | { kind: "status"; status: Status }
  | { kind: "end"; status: Status; result: ThreadJson["result"] };

export type FollowOptions = {
  signal?: AbortSignal;
  /** The number of the step to begin after: 0 shows all. */
  from?: number;
  /** Whether events are shown too. */
  events?: boolean;
};

const lookEveryMs = 250;

/**
 * Shows a thread's steps as they are committed, from the first on. Ends by itself when nothing more
 * comes: the thread has ended, waits for an answer, is corrupt, or its worker is gone. A paused thread
 * is waited for.
 */
export async function* followThread(
  root: Root,
  ref: ThreadRef,
  { signal, from = 0, events = false }: FollowOptions = {},
): AsyncGenerator<FollowItem> {
  const watch = new ThreadWatch(root, ref);
  const told = events ? new EventWatch(infoPath(root, ref.hash, ref.threadId)) : null;
  try {
    yield* itemsOf(watch, told, from, signal);
  } finally {
    told?.close();
  }
}

async function* itemsOf(
  watch: ThreadWatch,
  told: EventWatch | null,
  from: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<FollowItem> {
  let shown: Status | null = null;
  while (!signal?.aborted) {
    for (const { number, step } of watch.read()) {
      if (told) yield* told.until(number);
      if (number > from) yield { kind: "step", number, step };
    }
    const status = await watch.status();
    if (watch.isBehind()) continue;
    const moving = isMoving(status);
    if (told) yield* told.until(moving ? watch.count + 1 : Number.POSITIVE_INFINITY);
    if (!moving) {
      yield { kind: "end", status, result: watch.result };
      return;
    }
    if (status !== shown) yield { kind: "status", status };
    shown = status;
    if (told) yield* told.untilChange(watch, signal);
    else await watch.change(signal);
  }
}

/**
 * Waits until a thread has ended, waits for an answer, is corrupt or is no longer driven, and returns
 * it. With an aborted `signal` it returns at once.
 */
export async function waitThread(
  root: Root,
  ref: ThreadRef,
  { signal }: { signal?: AbortSignal } = {},
): Promise<ThreadJson> {
  const watch = new ThreadWatch(root, ref);
  for (;;) {
    for (const _ of watch.read());
    const status = await watch.status();
    if (watch.isBehind() && !signal?.aborted) continue;
    if (!isMoving(status) || signal?.aborted) return await readThread(root, ref);
    await watch.change(signal);
  }
}

/** Reads what a log gains and what it says, each record once, however long the thread gets. */
class ThreadWatch {
  readonly path: string;
  readonly #root: Root;
  readonly #ref: ThreadRef;
  readonly #log: LogTail;
  #lines = 0;
  #last: Step | null = null;
  #end: EndRecord | null = null;
  #broken = false;
  #seen = 0;

  constructor(root: Root, ref: ThreadRef) {
    this.#root = root;
    this.#ref = ref;
    this.path = dataPath(root, ref.hash, ref.threadId);
    this.#log = new LogTail(this.path);
  }

  /** How many steps were read. */
  get count(): number {
    return Math.max(0, this.#lines - (this.#end ? 2 : 1));
  }

  get result(): ThreadJson["result"] {
    return this.#end && { returnCode: this.#end.meta.returnCode, summary: this.#end.content };
  }

  /** The steps that are new, with their numbers from 1. */
  *read(): Generator<{ number: number; step: Step }> {
    for (const { value } of this.#log.read()) {
      this.#lines += 1;
      if (this.#lines === 1) continue;
      if (this.#end || faultOfRecord(value)) {
        this.#broken = true;
        return;
      }
      const record = value as Step | EndRecord;
      if (isEnd(record)) {
        this.#end = record;
        continue;
      }
      this.#last = record;
      yield { number: this.#lines - 1, step: record };
    }
  }

  async status(): Promise<Status> {
    this.#seen = this.#log.position;
    if (this.#broken) return "corrupt";
    const alive = this.#end ? null : await new LiveLookup(this.#root).find(this.#ref);
    return statusOf({ broken: null, end: this.#end, last: this.#last }, alive).status;
  }

  // A worker may end a thread and go away between the reading of the log and the question to it: the
  // answer then belongs to a longer log than the one that was read.
  isBehind(): boolean {
    const { value } = new LogTail(this.path, this.#seen).read().next();
    return value !== undefined && !this.#broken;
  }

  change(signal?: AbortSignal): Promise<void> {
    return changed([this.path], lookEveryMs, signal);
  }
}
