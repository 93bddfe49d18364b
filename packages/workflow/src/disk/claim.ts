import type { Step } from "../contract/contract.ts";
import type { ThreadLog } from "./log.ts";
import type { EndRecord, JournalHead, StartRecord } from "../record/record.ts";
import { type ThreadRef } from "../record/thread.ts";
import {
  type Appended,
  type Claim,
  type Cut,
  FencedError,
  type ThreadInfo,
  type ThreadState,
} from "../store/store.ts";
import { threadBlobs } from "./blobs.ts";
import { addDue, duePath } from "./due.ts";
import { EventFile } from "./event-file.ts";
import { removeQuietly } from "./files.ts";
import type { JournalFile } from "./journal-file.ts";
import { isPaused } from "./paused.ts";
import { infoPath, type Root, valuesPath } from "./paths.ts";
import type { LogWriter } from "./writer.ts";
import type { Writing } from "./writing.ts";
import { endedError } from "../record/errors.ts";

/** Dependencies of a claim on a thread of a storage root. `isSuspect`: a sync of the log or the journal has failed. */
export type DiskClaimParts = {
  root: Root;
  thread: ThreadInfo;
  fence: number;
  log: Pick<ThreadLog, "start" | "steps" | "end" | "journal">;
  writer: LogWriter;
  journal: JournalFile;
  writing: Writing;
  cut: Cut | null;
  onRelease: (isSuspect: boolean) => void;
};

/** A claim on a thread of a storage root. The process's lock on the bundle's threads excludes other processes. */
export class DiskClaim implements Claim {
  readonly ref: ThreadRef;
  readonly fence: number;
  readonly thread: ThreadInfo;
  readonly cut: Cut | null;
  readonly start: StartRecord;
  readonly steps: readonly Step[];
  readonly end: EndRecord | null;
  readonly journalHead: JournalHead | null;
  readonly lost: AbortSignal;
  readonly #parts: DiskClaimParts;
  readonly #lost = new AbortController();
  readonly #events: EventFile;
  readonly #journal: JournalFile;
  #dueAt: number | null;
  #isOver = false;
  #isEnded: boolean;
  #released: Promise<void> | null = null;
  #forgetting: Promise<unknown> = Promise.resolve();

  constructor(parts: DiskClaimParts) {
    const { root, thread, log } = parts;
    const { hash, threadId } = thread;
    this.#parts = parts;
    this.ref = { hash, threadId };
    this.fence = parts.fence;
    this.thread = thread;
    this.cut = parts.cut;
    this.start = log.start;
    this.steps = log.steps;
    this.end = log.end;
    this.journalHead = log.journal;
    this.lost = this.#lost.signal;
    this.#isEnded = log.end !== null;
    const values = valuesPath(root, hash, threadId);
    this.#events = new EventFile(infoPath(root, hash, threadId), values);
    this.#journal = parts.journal;
    this.#dueAt = dueOf(thread.state);
    // An earlier version may have committed the sleep without an entry in `due/`.
    if (this.#dueAt !== null) this.#addDue(this.#dueAt);
  }

  get lastSeq(): number {
    return this.#events.lastSeq;
  }

  renew(): Promise<boolean> {
    return Promise.resolve(!this.#isOver);
  }

  async append(record: string, state: ThreadState): Promise<Appended> {
    this.#check();
    const before = this.#dueAt;
    const at = dueOf(state);
    if (at !== null) this.#addDue(at);
    await this.#parts.writer.append(record);
    this.#dueAt = at;
    if (state.kind === "ended") this.#isEnded = true;
    if (before !== null && before !== at) this.#forgetDue(before);
    return { paused: isPaused(this.#parts.root, this.ref) };
  }

  async journal(record: string): Promise<void> {
    this.#check();
    await this.#journal.append(record);
  }

  event(lines: readonly string[]): void {
    if (!this.#isOver) this.#events.event(lines);
  }

  keepValue(json: string): number | null {
    return this.#isOver ? null : this.#events.keepValue(json);
  }

  async putBlob(bytes: Uint8Array): Promise<string | null> {
    if (this.#isOver) throw new FencedError(this.ref.threadId);
    const { root, thread } = this.#parts;
    return await threadBlobs(root, thread.hash, thread.threadId).put(bytes);
  }

  /** Makes the end of the log durable. Returns whether that succeeded. */
  settle(): Promise<boolean> {
    return this.#parts.writer.settle();
  }

  /** Fences the claim: notifies its holder, which can no longer write. */
  async fenced(): Promise<void> {
    this.#isOver = true;
    this.#lost.abort();
    await this.release();
  }

  release(): Promise<void> {
    this.#isOver = true;
    this.#released ??= this.#close();
    return this.#released;
  }

  async #close(): Promise<void> {
    const { writer, onRelease } = this.#parts;
    await this.#forgetting;
    await writer.close();
    await this.#journal.close();
    onRelease(writer.isSuspect || this.#journal.isSuspect);
  }

  #check(): void {
    if (this.#isOver) throw new FencedError(this.ref.threadId);
    if (this.#isEnded) throw endedError(this.ref.threadId, "ended");
  }

  #addDue(at: number): void {
    const { root, writing } = this.#parts;
    addDue(root, { ...this.ref, at }, writing.made);
  }

  // Remove the entry only after a sync: after a power failure the log may show the thread asleep (disk/due.ts, D2).
  #forgetDue(at: number): void {
    const { root, writer } = this.#parts;
    this.#forgetting = this.#forgetting.then(async () => {
      if (await writer.settle()) removeQuietly(duePath(root, { ...this.ref, at }));
    });
  }
}

const dueOf = (state: ThreadState): number | null =>
  state.kind === "waiting" ? state.dueAt : null;
