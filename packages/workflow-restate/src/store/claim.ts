import {
  type Appended,
  blobIdOf,
  type Claim,
  refusals,
  FencedError,
  readIndexed,
  type Root,
  sealed,
  type ThreadFiles,
  type ThreadInfo,
  type ThreadState,
} from "@uncaged/workflow/store";
import { WAIT } from "@uncaged/workflow";
import type { EndRecord, StartRecord, Step } from "@uncaged/workflow/host";
import { type ClusterClient, isPassing } from "../client/client.ts";
import { frame } from "../client/frame.ts";
import type { AppendMessage } from "../service/thread.ts";
import { infoOf } from "../thread/info.ts";
import { described } from "../thread/record.ts";
import { type Holder, maxRecordBytes, type ThreadMeta } from "../thread/thread.ts";
import { gainOf, sizeOf, type Tail } from "./tail.ts";
import { recordTooLarge } from "./errors.ts";

/** Time after which the claim sends new debug log lines without a record, in milliseconds. */
const flushAfterMs = 1000;
/**
 * Largest state that the servers send along with an append, in bytes. The handler then needs no reads. Ignored when the
 * servers limit the state that they send.
 */
const mostWithAppend = 32 * 1024;
const retryMs = [50, 100, 200, 500, 1000, 2000];

type Header = Pick<AppendMessage, "n" | "record" | "journal">;

/** Reply to an append. */
type Answer = { fenced: true } | { ended: true } | { pause: boolean };

/** Copy of a claimed thread in a private storage root, with a local claim on its files. */
export type ClaimedCopy = { root: Root; files: ThreadFiles; copy: Claim };

export type ClaimOptions = {
  /** Whether the servers limit the values of a thread that they send along with a call. */
  hasStateLimit?: boolean;
  /** Called when the debug log has grown. */
  onWrite?: () => void;
  /** Called once, when the claim is over. */
  onOver?: () => void;
};

/**
 * Claim on a thread of a cluster, held by the worker of an invocation or by an outside holder with a lease. The claim
 * sends appends in sequence, each with the new lines of the debug log. Between appends, it sends the lines alone. The
 * claim sends an append without a reply again: the object applies it once.
 */
export class ClusterClaim implements Claim {
  readonly ref: { hash: string; threadId: string };
  readonly fence: number;
  readonly thread: ThreadInfo;
  readonly start: StartRecord;
  readonly steps: readonly Step[];
  readonly end: EndRecord | null;
  readonly journalHead: Claim["journalHead"];
  readonly cut = null;
  readonly lastSeq: number;
  readonly lost: AbortSignal;
  /** Storage root and files of the copy. The copy's journal also gets the claim's appends. */
  readonly root: Root;
  readonly files: ThreadFiles;
  /** Bytes of the debug log in the cluster when the claim began. */
  readonly began: number;
  /** Called when the object has requested a pause at the next yield. */
  onPause: () => void = () => undefined;
  /** Called after each append. */
  onAppend: () => void = () => undefined;
  readonly #lost = new AbortController();
  /** Aborted when the claim sends no more messages. */
  readonly #over = new AbortController();
  readonly #client: ClusterClient;
  readonly #holder: Required<Holder>;
  readonly #leaseMs: number | null;
  readonly #onOver: () => void;
  readonly #info: Tail;
  readonly #values: Tail;
  readonly #copy: Claim;
  readonly #onWrite: () => void;
  #flush: { at: number; timer: ReturnType<typeof setTimeout> } | null = null;
  #records: number;
  /** Steps that this claim has appended. */
  readonly #appended: (Step | EndRecord)[] = [];
  #sum: bigint;
  #journal: { records: number; sum: bigint };
  #appends = 0;
  /** Earliest expiry of the lease, by this process's clock. */
  #holdsUntil = Infinity;
  /** Whether this holder has read or written the end record. */
  #isEnded: boolean;
  /** Bytes of state in the thread's object, counted up to {@link mostWithAppend}. */
  #kept: number;
  readonly #mostWithAppend: number;
  #last: Promise<unknown> = Promise.resolve();
  #isFlushing = false;
  #released: Promise<void> | null = null;

  constructor(
    client: ClusterClient,
    meta: ThreadMeta,
    { root, files, copy }: ClaimedCopy,
    {
      hasStateLimit = false,
      onWrite = () => undefined,
      onOver = () => undefined,
    }: ClaimOptions = {},
  ) {
    const { hash, threadId, epoch, claim, incarnation, journal, lease } = meta;
    this.#client = client;
    this.#holder = { epoch, claim, incarnation };
    this.#leaseMs = lease?.ms ?? null;
    this.#onOver = onOver;
    this.#renewed(performance.now());
    this.lost = this.#lost.signal;
    this.ref = { hash, threadId };
    this.fence = claim;
    this.thread = infoOf(meta, lease ? lease.until - lease.ms : 0);
    this.root = root;
    this.files = files;
    this.start = copy.start;
    this.steps = copy.steps;
    this.end = copy.end;
    this.journalHead = copy.journalHead;
    this.lastSeq = copy.lastSeq;
    this.#copy = copy;
    this.#onWrite = onWrite;
    this.#isEnded = copy.end !== null;
    const tail = (path: string): Tail => ({ path, sent: sizeOf(path) });
    this.#info = tail(files.info);
    this.#values = tail(files.values);
    this.began = this.#info.sent;
    this.#records = meta.records;
    this.#sum = BigInt(`0x${meta.sum}`);
    this.#journal = { records: journal?.records ?? 0, sum: BigInt(`0x${journal?.sum ?? "0"}`) };
    this.#mostWithAppend = hasStateLimit ? Number.MAX_VALUE : mostWithAppend;
    const { data, journal: entries } = files;
    const sizes = [data, entries, files.info, files.values].map(sizeOf);
    this.#kept = meta.isLarge ? Infinity : sizes.reduce((sum, size) => sum + size, 0);
  }

  async renew(): Promise<boolean> {
    if (this.#over.signal.aborted) return false;
    if (this.#leaseMs === null) return true;
    const asked = performance.now();
    try {
      const { isHeld } = await this.#again(() =>
        this.#call<{ isHeld: boolean }>("renew", this.#holder),
      );
      if (isHeld) this.#renewed(asked);
      else this.abandon();
      return isHeld;
    } catch (error) {
      if (error instanceof FencedError) return false;
      throw error;
    }
  }

  async append(record: string, state: ThreadState): Promise<Appended> {
    checkLength(record);
    return await this.#alone(async () => {
      const { text, sum } = sealed(record, this.#sum);
      const step = JSON.parse(record) as Step | EndRecord;
      const kept = { ...described(step, state), ...this.#shownAfter(step, state) };
      const header = { n: this.#records, record: { ...kept, sum: sum.toString(16) } };
      const { pause } = await this.#send(header, Buffer.from(text));
      this.#records += 1;
      this.#sum = sum;
      // Only the content of a question is shown.
      this.#appended.push(step.role === WAIT ? step : { ...step, content: "" });
      if (state.kind === "ended") this.#isEnded = true;
      return { paused: pause };
    });
  }

  /** Returns the fields of the thread's row and its figures after a record, if the thread rests at it. */
  #shownAfter(record: Step | EndRecord, state: ThreadState) {
    if (state.kind === "running") return {};
    const found = readIndexed(this.root, this.ref, [...this.#appended, record]);
    if (!found || found.row.status === "corrupt") return {};
    const { at, spent, hasError } = found.row;
    return { shown: { at, spent, hasError }, figures: found.figures };
  }

  async journal(record: string): Promise<void> {
    checkLength(record);
    await this.#alone(async () => {
      const { records, sum: before } = this.#journal;
      const { text, sum } = sealed(record, before);
      await this.#send({ n: records, journal: { sum: sum.toString(16) } }, Buffer.from(text));
      this.#journal = { records: records + 1, sum };
      await this.#copy.journal(record);
    });
  }

  event(lines: readonly string[]): void {
    if (this.#over.signal.aborted || lines.length === 0) return;
    this.#copy.event(lines);
    this.#onWrite();
    this.#plan();
  }

  keepValue(json: string): number | null {
    return this.#over.signal.aborted ? null : this.#copy.keepValue(json);
  }

  async putBlob(bytes: Uint8Array): Promise<string | null> {
    if (bytes.length > maxRecordBytes) return null;
    const id = blobIdOf(bytes);
    const message = frame({ ...this.#holder, id }, [bytes]);
    this.#kept = Infinity;
    const kept = await this.#again(() => this.#call<{ fenced: boolean }>("keep", message));
    if (kept.fenced) throw this.#fenced();
    return id;
  }

  /** Ends the drive when the thread must pause or waits. Returns false when the thread was resumed meanwhile. */
  async park(): Promise<boolean> {
    const { parked } = await this.#again(() =>
      this.#call<{ parked: boolean }>("park", this.#holder),
    );
    return parked;
  }

  release(): Promise<void> {
    this.#released ??= this.#release();
    return this.#released;
  }

  async #release(): Promise<void> {
    const { signal } = this.#over;
    const sendRest = async (): Promise<void> => {
      if (this.#isBehind) await this.#send({ n: this.#records }, none);
    };
    if (!signal.aborted) await this.#alone(sendRest).catch(() => undefined);
    if (signal.aborted) return;
    this.#end();
    // Without a release the lease expires.
    if (this.#leaseMs !== null) await this.#call("release", this.#holder).catch(() => undefined);
  }

  /** Ends the claim without waiting for messages in flight. */
  abandon(): void {
    if (this.#over.signal.aborted) return;
    this.#lost.abort();
    this.#end();
  }

  #end(): void {
    this.#unplan();
    this.#over.abort();
    this.#onOver();
  }

  get #isBehind(): boolean {
    return [this.#info, this.#values].some(({ path, sent }) => sizeOf(path) > sent);
  }

  #plan(): void {
    const at = performance.now() + flushAfterMs;
    if (this.#over.signal.aborted || (this.#flush && this.#flush.at <= at)) return;
    this.#unplan();
    this.#flush = { at, timer: setTimeout(() => void this.#sendLines(), flushAfterMs) };
  }

  #unplan(): void {
    clearTimeout(this.#flush?.timer);
    this.#flush = null;
  }

  /** Sends new debug log lines without a record. */
  async #sendLines(): Promise<void> {
    this.#unplan();
    if (this.#isFlushing || this.#over.signal.aborted) return;
    this.#isFlushing = true;
    try {
      await this.#alone(async () => {
        // An append may have sent the lines already.
        if (!this.#isBehind) return;
        const { pause } = await this.#send({ n: this.#records }, none);
        if (pause) this.onPause();
      });
    } catch {
      // The next append gets the same error and reports the error.
    } finally {
      this.#isFlushing = false;
    }
  }

  async #alone<T>(act: () => Promise<T>): Promise<T> {
    const next = this.#last.then(act, act);
    this.#last = next.catch(() => undefined);
    return await next;
  }

  /**
   * Sends new debug log lines, and a record with the last lines. Sends values before the lines that may refer to them,
   * and all lines before the record.
   */
  async #send(header: Header, line: Buffer): Promise<{ pause: boolean }> {
    this.#unplan();
    for (;;) {
      const values = gainOf(this.#values);
      const hasValues = this.#values.sent + values.length >= sizeOf(this.#values.path);
      const info = hasValues ? gainOf(this.#info) : none;
      const gained = values.length + info.length;
      const isAll = hasValues && this.#info.sent + info.length >= sizeOf(this.#info.path);
      const isFit = line.length === 0 || gained + line.length <= maxRecordBytes;
      if (gained === 0 || (isAll && isFit)) return await this.#post(header, line, info, values);
      await this.#post({ n: this.#records }, none, info, values);
    }
  }

  async #post(
    header: Header,
    line: Buffer,
    info: Buffer,
    values: Buffer,
  ): Promise<{ pause: boolean }> {
    const append = this.#appends + 1;
    const at = this.#info.sent;
    const message = frame({ ...this.#holder, append, at, ...header }, [line, info, values]);
    const answer = await this.#again((tries) => {
      // The server may have refused the call because of the size of the state.
      if (tries > 0) this.#kept = Infinity;
      const handler = this.#kept <= this.#mostWithAppend ? "appendEager" : "append";
      return this.#call<Answer>(handler, message);
    });
    if ("ended" in answer && this.#isEnded) throw refusals.ended(this.ref.threadId, "ended");
    if (!("pause" in answer)) throw this.#fenced();
    this.#appends = append;
    this.#kept += message.length;
    this.#info.sent += info.length;
    this.#values.sent += values.length;
    if (this.#isBehind) this.#plan();
    this.onAppend();
    return answer;
  }

  #call<T>(handler: string, body: object): Promise<T> {
    const { signal } = this.#over;
    const isLast = handler === "release";
    return this.#client.call<T>(
      "thread",
      this.ref.threadId,
      handler,
      body,
      isLast ? {} : { signal },
    );
  }

  #renewed(asked: number): void {
    if (this.#leaseMs !== null) this.#holdsUntil = asked + this.#leaseMs;
  }

  #fenced(): FencedError {
    this.abandon();
    return new FencedError(this.ref.threadId);
  }

  /** Retries a call until it gets a reply or the claim is over. The object applies a repeated call once. */
  async #again<T>(call: (tries: number) => Promise<T>): Promise<T> {
    for (let tries = 0; ; tries += 1) {
      if (this.#over.signal.aborted) throw new FencedError(this.ref.threadId);
      try {
        return await call(tries);
      } catch (error) {
        if (this.#over.signal.aborted) throw new FencedError(this.ref.threadId);
        if (!isPassing(error)) throw error;
        if (performance.now() > this.#holdsUntil) {
          this.abandon();
          throw error;
        }
        await Bun.sleep(retryMs[Math.min(tries, retryMs.length - 1)] ?? 0);
      }
    }
  }
}

const none = Buffer.alloc(0);
/** Checks the length of a record. @throws WorkflowError `RECORD_TOO_LARGE` */
export function checkLength(record: string): void {
  const length = Buffer.byteLength(record);
  if (length > maxRecordBytes) throw recordTooLarge(length);
}
