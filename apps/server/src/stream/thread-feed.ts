import {
  listLive,
  type LiveRow,
  type LogFacts,
  LogReader,
  type Position,
  type Root,
  type Status,
  statusOf,
  type ThreadRef,
} from "@uncaged/workflow/host";
import { Ring } from "./ring.ts";
import { heartbeatEveryMs, type Serializer, type SseMessage } from "./sse.ts";

/*
 * Owns: the one reading of a thread's files for all who listen to it now, its newest messages, and the
 * status that it computed last. Does not own: the listeners' positions and what they were sent.
 *
 * F1 It reads on only when a listener has come to its head: nobody listens, nothing is read.
 * F2 Its head, that of its ring, is the position of its newest message, so that whoever reads the files
 *    up to there has exactly what the messages up to there tell.
 * F3 A status is computed from a log that was read to its end after the workers had answered.
 */

const batchBytes = 256 * 1024;
const ringBytes = 1024 * 1024;
const lookEveryMs = 500;

// What tells nothing was read all the same.
const leastBytes = 64;

/** What a message counts for when they are made or passed on piece by piece. */
export const sizeOf = ({ bytes }: SseMessage): number => Math.max(bytes.length, leastBytes);

/** What a thread's listeners share. */
export class ThreadFeed {
  readonly root: Root;
  readonly ref: ThreadRef;
  readonly ring: Ring;
  readonly serializer: Serializer;
  readonly #reader: LogReader;
  readonly #live: LiveThreads;
  readonly #watch: ReturnType<LogReader["watch"]>;
  #status: Status | null = null;
  #removed = false;
  #failed = false;
  #closed = false;
  #turning = false;
  #looking = false;
  #wake = Promise.withResolvers<void>();
  #change = Promise.withResolvers<void>();
  #beatAt = performance.now() + heartbeatEveryMs;

  /** @throws WorkflowError `BAD_POSITION` (usage). */
  constructor(
    root: Root,
    ref: ThreadRef,
    from: Position,
    live: LiveThreads,
    serializer: Serializer,
  ) {
    this.serializer = serializer;
    this.root = root;
    this.ref = ref;
    this.#live = live;
    this.#reader = new LogReader(root, ref, from);
    this.ring = new Ring(from, ringBytes);
    this.#watch = this.#reader.watch(() => this.#change.resolve());
  }

  /** How the thread stands, null until that is known. */
  get status(): Status | null {
    return this.#status;
  }

  /** What the log says up to the head. */
  get facts(): LogFacts {
    return this.#reader.facts;
  }

  /** How many steps the messages up to the head tell of. */
  get steps(): number {
    return this.#reader.steps;
  }

  /** Whether the thread's log is gone. */
  get removed(): boolean {
    return this.#removed;
  }

  /** Whether the files can't be read on: who comes back is told why. */
  get failed(): boolean {
    return this.#failed;
  }

  /** Resolves when there is something new: messages, a status, or that it is time for a heartbeat. */
  woken(): Promise<void> {
    const { promise } = this.#wake;
    if (!this.#turning && !this.#closed) {
      this.#turning = true;
      void this.#turn()
        .catch(() => this.#fail())
        .finally(() => {
          this.#turning = false;
        });
    }
    return promise;
  }

  /** Reads no more, and wakes who still waits. */
  close(): void {
    this.#closed = true;
    this.#watch.close();
    this.#change.resolve();
    this.#tell();
  }

  async #turn(): Promise<void> {
    while (!this.#closed) {
      this.#change = Promise.withResolvers<void>();
      this.#watch.ensure();
      if (this.#pump() || this.#isGone() || this.#isTimeToBeat()) break;
      void this.#look().catch(() => this.#fail());
      const timer = setTimeout(this.#change.resolve, lookEveryMs);
      await this.#change.promise;
      clearTimeout(timer);
    }
    // The messages are taken before a listener asks for more, and the next turn begins.
    queueMicrotask(() => this.#tell());
  }

  #fail(): void {
    this.#failed = true;
    this.#tell();
  }

  #tell(): void {
    const { resolve } = this.#wake;
    this.#wake = Promise.withResolvers<void>();
    resolve();
  }

  /** Makes messages of what is new, as far as one batch goes. False when there was nothing. */
  #pump(): boolean {
    let bytes = 0;
    for (const item of this.#reader.read()) {
      const message: SseMessage = this.serializer.message(item);
      this.ring.push(message);
      bytes += sizeOf(message);
      if (bytes >= batchBytes) break;
    }
    return bytes > 0;
  }

  #isGone(): boolean {
    this.#removed = !this.#reader.exists;
    return this.#removed;
  }

  #isTimeToBeat(): boolean {
    const now = performance.now();
    if (now < this.#beatAt) return false;
    this.#beatAt = now + heartbeatEveryMs;
    return true;
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    const { end, broken } = this.#reader.facts;
    const live = end || broken ? null : await this.#live.now();
    this.#looking = false;
    if (this.#closed || this.#failed) return;
    if (this.#pump()) return this.#tell();
    const status = this.#statusWith(live?.get(this.ref.threadId) ?? null);
    if (status === this.#status) return;
    this.#status = status;
    this.#tell();
  }

  #statusWith(row: LiveRow | null): Status {
    const { status } = row ?? {};
    const alive =
      status === "running" || status === "paused" || status === "waiting" ? status : null;
    return statusOf(this.#reader.facts, alive && { status: alive, pid: 0 }).status;
  }
}

const freshMs = 400;

/** What the live workers say of their threads, asked once for all who want to know at the time. */
export class LiveThreads {
  readonly #root: Root;
  #answer: Promise<ReadonlyMap<string, LiveRow>> | null = null;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(root: Root) {
    this.#root = root;
  }

  /** The live threads by id, as they were less than half a second ago. */
  now(): Promise<ReadonlyMap<string, LiveRow>> {
    if (this.#answer && performance.now() - this.#askedAt < freshMs) return this.#answer;
    this.#askedAt = performance.now();
    this.#answer = this.#ask();
    return this.#answer;
  }

  async #ask(): Promise<ReadonlyMap<string, LiveRow>> {
    const rows = await listLive(this.#root).catch(() => []);
    return new Map(rows.map((row) => [row.threadId, row]));
  }
}
