import { appendFileSync, closeSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import {
  type Appended,
  blobIdOf,
  dataPath,
  EventFile,
  FencedError,
  firstSum,
  infoPath,
  type JournalHead,
  journalPath,
  type Root,
  sealed,
  type StoreClaim,
  type ThreadInfo,
  type ThreadState,
  valuesPath,
} from "@uncaged/workflow/driver";
import { type StartRecord, type Step, WorkflowError } from "@uncaged/workflow/host";
import { type ClusterClient, isPassing } from "../client/client.ts";
import { frame } from "../client/frame.ts";
import { infoOf } from "../thread/info.ts";
import { described } from "../thread/record.ts";
import { maxRecordBytes, type ThreadMeta } from "../thread/thread.ts";

/** So much of a debug log, or of a journal, goes with a record, or in a message of its own. */
const mostBeside = 512 * 1024;
/** What the debug log has gained goes with the next record, unless that is not made for so long. */
const flushAfterMs = 1000;
/**
 * An append brings a thread's values along as long as they have so many bytes, unless the servers limit what they send: it
 * need not ask for them.
 */
const mostWithAppend = 32 * 1024;
const retryMs = [50, 100, 200, 500, 1000, 2000];

/** A file, and how many bytes of it were sent. */
type Tail = { path: string; sent: number };

type Header = {
  n: number;
  record?: { sum: string; last: object; end?: object; text?: string };
};

/** What the object answers to an append. */
type Answer = { fenced: true } | { fenced: false; pause: boolean };

/** An event's number is that of no other, also when a claim was lost with the last numbers that it gave. */
const seqsOfClaim = 1_000_000;

/** A claimed thread's records, and the storage root that has its files as they were when it was claimed. */
export type ClaimedThread = {
  root: Root;
  start: StartRecord;
  steps: readonly Step[];
  /** What the records know of the journal. */
  journal: JournalHead | null;
};

/**
 * One worker's claim on a thread of a cluster. It appends records, each after the one before it was confirmed, and with each
 * the lines that the debug log and the journal have gained. While a role takes long, these alone are sent.
 */
export class Claim implements StoreClaim {
  readonly ref: { hash: string; threadId: string };
  readonly fence: number;
  readonly thread: ThreadInfo;
  readonly start: StartRecord;
  readonly steps: readonly Step[];
  readonly end = null;
  readonly journalHead: JournalHead | null;
  readonly cut = null;
  readonly lost: AbortSignal;
  /** How many bytes of the debug log the cluster had. */
  readonly began: number;
  /** Called when lines were sent and the thread is to stop at its next yield. */
  onPause: () => void = () => undefined;
  /** Called after each append. */
  onAppend: () => void = () => undefined;
  readonly #lost = new AbortController();
  readonly #client: ClusterClient;
  readonly #meta: ThreadMeta;
  readonly #tails: [info: Tail, values: Tail, journal: Tail];
  readonly #journal: JournalTail;
  readonly #events: EventFile;
  #flush: { at: number; timer: ReturnType<typeof setTimeout> } | null = null;
  #records: number;
  #sum: bigint;
  #appends = 0;
  /** How many bytes the thread's object keeps, as far as that matters; with how many at most they come along. */
  #kept: number;
  readonly #mostWithAppend: number;
  #last: Promise<unknown> = Promise.resolve();
  #isFlushing = false;

  /**
   * `hasLimit`: the servers send but the first of a thread's values along, however many there are. `onWrite` is called when
   * the debug log has grown.
   */
  constructor(
    client: ClusterClient,
    meta: ThreadMeta,
    { root, start, steps, journal: journalHead }: ClaimedThread,
    { hasLimit, onWrite }: { hasLimit: boolean; onWrite: () => void },
  ) {
    this.lost = this.#lost.signal;
    this.#client = client;
    this.#meta = meta;
    const { hash, threadId } = meta;
    this.ref = { hash, threadId };
    this.fence = meta.claim;
    this.thread = infoOf(meta);
    this.start = start;
    this.steps = steps;
    this.journalHead = journalHead;
    const [info, values, journal] = [infoPath, valuesPath, journalPath].map((pathOf) =>
      pathOf(root, hash, threadId),
    ) as [string, string, string];
    this.#journal = new JournalTail(journal);
    this.#events = new EventFile(info, values, () => {
      onWrite();
      this.#plan(flushAfterMs);
    });
    const tail = (path: string): Tail => ({ path, sent: sizeOf(path) });
    this.#tails = [tail(info), tail(values), tail(journal)];
    this.began = this.#tails[0].sent;
    this.#records = meta.records;
    this.#sum = BigInt(`0x${meta.sum}`);
    const log = sizeOf(dataPath(root, hash, threadId));
    this.#mostWithAppend = hasLimit ? Number.MAX_VALUE : mostWithAppend;
    this.#kept = meta.isLarge ? Infinity : this.#tails.reduce((sum, { sent }) => sum + sent, log);
  }

  get lastSeq(): number {
    return Math.max(this.#events.lastSeq, (this.fence - 1) * seqsOfClaim);
  }

  renew(): Promise<boolean> {
    return Promise.resolve(!this.lost.aborted);
  }

  append(record: string, state: ThreadState): Promise<Appended> {
    return this.#alone(async () => {
      const { text, sum } = sealed(record, this.#sum);
      const line = Buffer.from(text);
      if (line.length > maxRecordBytes) throw tooLarge(line.length);
      const kept = described(record, state);
      const header = { n: this.#records, record: { ...kept, sum: sum.toString(16) } };
      const { pause } = await this.#send(header, line);
      this.#records += 1;
      this.#sum = sum;
      return { paused: pause };
    });
  }

  async journal(record: string): Promise<void> {
    if (this.lost.aborted) throw this.#fenced();
    this.#journal.append(record);
    if (!(await this.settle())) throw this.#fenced();
  }

  event(lines: readonly string[]): void {
    if (!this.lost.aborted) this.#events.event(lines);
  }

  keepValue(json: string): number | null {
    return this.lost.aborted ? null : this.#events.keepValue(json);
  }

  async putBlob(bytes: Uint8Array): Promise<string | null> {
    if (bytes.length > maxRecordBytes) return null;
    const id = blobIdOf(bytes);
    const { threadId, epoch, claim } = this.#meta;
    const message = frame({ epoch, claim, id }, [bytes]);
    this.#kept = Infinity;
    const kept = await this.#again(() =>
      this.#client.call<{ fenced: boolean }>("thread", threadId, "keep", message),
    );
    if (kept.fenced) throw this.#fenced();
    return id;
  }

  /** Ends the drive when the thread is to pause, or waits; false when it was resumed meanwhile. */
  async park(): Promise<boolean> {
    const { threadId, epoch, claim } = this.#meta;
    const { parked } = await this.#again(() =>
      this.#client.call<{ parked: boolean }>("thread", threadId, "park", { epoch, claim }),
    );
    return parked;
  }

  async release(): Promise<void> {
    if (!this.lost.aborted) await this.#sendLines();
    this.abandon();
  }

  /** Gives the thread up: what is being sent is not waited for. */
  abandon(): void {
    this.#unplan();
    this.#lost.abort();
  }

  /** Sends all that was written until now; false when the cluster has not taken it. */
  async settle(): Promise<boolean> {
    try {
      while (this.#tails.some(isBehind)) {
        await this.#alone(() => this.#send({ n: this.#records }, Buffer.alloc(0)));
      }
      return true;
    } catch {
      return false;
    }
  }

  #plan(ms: number): void {
    const at = performance.now() + ms;
    if (this.lost.aborted || (this.#flush && this.#flush.at <= at)) return;
    this.#unplan();
    this.#flush = { at, timer: setTimeout(() => void this.#sendLines(), ms) };
  }

  #unplan(): void {
    clearTimeout(this.#flush?.timer);
    this.#flush = null;
  }

  /** Sends what the debug log has gained, without a record. */
  async #sendLines(): Promise<void> {
    this.#unplan();
    if (this.#isFlushing || this.lost.aborted || !this.#tails.some(isBehind)) return;
    this.#isFlushing = true;
    try {
      await this.#alone(async () => {
        // What was sent before this may have taken it along.
        if (!this.#tails.some(isBehind)) return;
        const { pause } = await this.#send({ n: this.#records }, Buffer.alloc(0));
        if (pause) this.onPause();
      });
    } catch {
      // Whoever appends the next record meets the same error.
    } finally {
      this.#isFlushing = false;
    }
  }

  async #alone<T>(act: () => Promise<T>): Promise<T> {
    const next = this.#last.then(act, act);
    this.#last = next.catch(() => undefined);
    return await next;
  }

  async #send(header: Header, line: Buffer): Promise<{ pause: boolean }> {
    this.#unplan();
    const gained = this.#tails.map(gainOf);
    const isMuch = gained.reduce((sum, { length }) => sum + length, line.length) > maxRecordBytes;
    if (isMuch && line.length > 0) {
      await this.#send({ n: header.n }, Buffer.alloc(0));
      return await this.#send(header, line);
    }
    const { threadId, epoch, claim } = this.#meta;
    const append = this.#appends + 1;
    const at = this.#tails[0].sent;
    const message = frame({ epoch, claim, append, at, ...header }, [line, ...gained]);
    const answer = await this.#again((tries) => {
      // What was refused may have been so for what comes with it.
      if (tries > 0) this.#kept = Infinity;
      const handler = this.#kept <= this.#mostWithAppend ? "appendEager" : "append";
      return this.#client.call<Answer>("thread", threadId, handler, message, { signal: this.lost });
    });
    if (answer.fenced) throw this.#fenced();
    this.#appends = append;
    this.#kept += message.length;
    for (const [index, { length }] of gained.entries()) {
      const tail = this.#tails[index];
      if (tail) tail.sent += length;
    }
    if (this.#tails.some(isBehind)) this.#plan(flushAfterMs);
    this.onAppend();
    return { pause: answer.pause };
  }

  #fenced(): FencedError {
    this.abandon();
    return new FencedError(this.ref.threadId);
  }

  /** Makes a call until it is answered, or the thread was given up: what came twice is taken once. */
  async #again<T>(call: (tries: number) => Promise<T>): Promise<T> {
    for (let tries = 0; ; tries += 1) {
      try {
        return await call(tries);
      } catch (error) {
        if (this.lost.aborted) throw new FencedError(this.#meta.threadId);
        if (!isPassing(error)) throw error;
        await Bun.sleep(retryMs[Math.min(tries, retryMs.length - 1)] ?? 0);
      }
    }
  }
}

/** The journal as it is in the cluster, and what is to be sent of it. */
class JournalTail {
  readonly #path: string;
  #sum: bigint | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  /** @throws WorkflowError `RECORD_TOO_LARGE` */
  append(record: string): void {
    this.#sum ??= sumAtEnd(this.#path);
    const { text, sum } = sealed(record, this.#sum);
    const line = Buffer.from(`${text}\n`);
    if (line.length > maxRecordBytes) throw tooLarge(line.length);
    appendFileSync(this.#path, line, { mode: 0o600 });
    this.#sum = sum;
  }
}

/** The sum of a journal's last record. */
function sumAtEnd(path: string): bigint {
  if (sizeOf(path) === 0) return firstSum;
  const lines = readFileSync(path, "utf8").trimEnd();
  const last = lines.slice(lines.lastIndexOf("\n") + 1);
  return BigInt(`0x${(JSON.parse(last) as { sum: string }).sum}`);
}

const isBehind = ({ path, sent }: Tail): boolean => sizeOf(path) > sent;
const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** The whole lines of a file behind those that were sent, up to a bound. Each step waits for it: it is not left to other threads. */
export function gainOf({ path, sent }: Tail): Buffer {
  const size = sizeOf(path);
  if (size <= sent) return Buffer.alloc(0);
  const file = openSync(path, "r");
  try {
    let length = Math.min(size - sent, mostBeside);
    for (;;) {
      const bytes = Buffer.alloc(length);
      readSync(file, bytes, 0, length, sent);
      const end = bytes.lastIndexOf("\n") + 1;
      if (end > 0 || length >= size - sent) return bytes.subarray(0, end);
      length = Math.min(size - sent, length * 4);
    }
  } finally {
    closeSync(file);
  }
}

const tooLarge = (length: number): WorkflowError =>
  WorkflowError.failed(
    "RECORD_TOO_LARGE",
    `a record of ${(length / 1048576).toFixed(1)} MiB is too large`,
    "put large data into a file and give its path",
  );
