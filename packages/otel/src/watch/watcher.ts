import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Host,
  isWorkflowError,
  type StartRecord,
  type Status,
  type ThreadRow,
} from "@uncaged/workflow/host";
import { type Lock, makeFolder, takeLock, withoutPasswords } from "@uncaged/workflow/internal";
import { Metrics } from "../export/metrics.ts";
import { type Settings, settingsOf } from "../export/settings.ts";
import { Tracing } from "../export/tracing.ts";
import { Progress } from "../progress/progress.ts";
import { callsOf } from "../span/calls.ts";
import { endedWork, isOver, type PlannedSpan, rootSpan, type ThreadFacts } from "../span/spans.ts";

const retryMs = 1_000;
const longestBackoffMs = 60_000;
const stopMs = 2_000;
const mostChanged = 10_000;
const pageSize = 100;
/** Maximum number of spans in a request. */
const batchSpans = 512;
/** Minimum pause between two reads of a log, as a multiple of the duration of the last read. */
const restFactor = 20;

type Changed = { row: ThreadRow; readableAt: number };

/** The error of spans that the collector did not accept. The watcher sends the same spans again later. */
class NotSent extends Error {}

/**
 * Sends traces and metrics of a host's threads, and never changes a thread. Keeps only the ids of changed threads, and
 * reads the records from the logs at each export.
 *
 * S1 One watcher of a storage root sends at a time. Other watchers wait for its lock.
 * S2 The spans of one request are recorded together after the collector has accepted the request. Only a request that
 *    the collector has not accepted is sent again.
 */
export class Watcher {
  readonly #host: Host;
  readonly #settings: Settings;
  readonly #tracing: Tracing | null;
  readonly #note: (text: string) => void;
  #metrics: Metrics | null = null;
  #progress!: Progress;
  readonly #stopped = new AbortController();
  readonly #changed = new Map<string, Changed>();
  /** The statuses of the threads that have not ended. */
  readonly #open = new Map<string, Status>();
  /** The keys of counted attempts and threads whose spans the collector has not accepted yet. */
  readonly #counted = new Set<string>();
  /** Whether a change was dropped because the queue was full. */
  #wasFull = false;
  /** Whether no change was missed since the last catch-up. */
  #isFollowing = false;
  #hasNoted = false;
  #hasGivenUp = false;
  #work: Promise<unknown> = Promise.resolve();

  constructor(
    host: Host,
    env: Readonly<Record<string, string | undefined>>,
    note: (text: string) => void,
  ) {
    this.#host = host;
    this.#note = note;
    this.#settings = settingsOf(env, note);
    const { traces } = this.#settings;
    this.#tracing = traces && new Tracing(traces);
  }

  start(): void {
    if (this.#tracing || this.#settings.metrics) this.#work = this.#watch();
  }

  /** Stops watching, and sends the ended work that the collector accepts within two seconds. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await Promise.race([this.#work, sleep(stopMs, undefined, { ref: false })]);
    this.#hasGivenUp = true;
  }

  async #watch(): Promise<void> {
    const lock = await this.#lock();
    if (!lock) return;
    try {
      const isCaughtUp = () => this.#isFollowing && !this.#wasFull;
      this.#progress = Progress.open(this.#host.root, isCaughtUp);
      this.#metrics = this.#startMetrics();
      await Promise.all([this.#follow(), this.#sendAll()]);
      await this.#sendChanged(Number.POSITIVE_INFINITY).catch(() => undefined);
      await this.#metrics?.stop().catch(() => undefined);
    } catch (error) {
      this.#noteFirst("telemetry is not sent", error);
    } finally {
      lock.release();
    }
  }

  #startMetrics(): Metrics | null {
    const { metrics, metricsEveryMs } = this.#settings;
    const onError = (error: unknown): void => this.#failed(metrics?.url ?? "", error);
    const openStatuses = () => this.#open.values();
    return metrics && new Metrics(metrics, { metricsEveryMs, openStatuses, onError });
  }

  /** Waits until no other watcher of the storage root sends. Returns null if this watcher is stopped first. */
  async #lock(): Promise<Lock | null> {
    const folder = join(this.#host.root, "run");
    while (!this.#stopped.signal.aborted) {
      try {
        makeFolder(folder);
        const lock = takeLock(join(folder, "telemetry.lock"), 0);
        if (lock) return lock;
      } catch (error) {
        this.#noteFirst("telemetry is not sent", error);
      }
      await this.#rest(retryMs);
    }
    return null;
  }

  #failed(url: string, error: unknown): void {
    this.#noteFirst(
      `${withoutPasswords(url)}: telemetry is not accepted and will be sent again later`,
      error,
    );
  }

  /** Reports the first failure, and ignores later failures. */
  #noteFirst(problem: string, error: unknown): void {
    if (this.#hasNoted) return;
    this.#hasNoted = true;
    const text = (error instanceof Error ? error.message : String(error)).split("\n")[0] ?? "";
    this.#note(`${problem}: ${text}`);
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      try {
        for await (const change of this.#host.changes(signal)) {
          if (change.kind === "ready") {
            await this.#catchUp();
            this.#isFollowing = true;
            this.#progress.rewrite();
          }
          if (change.kind === "thread") this.#touch(change.row);
          else if (change.kind === "removed") this.#forget(change.threadId);
        }
      } catch {
        // The next attempt may succeed. It begins with `ready`, so no change is missed.
      }
      this.#isFollowing = false;
      await this.#rest(retryMs);
    }
  }

  /** Finds the threads that changed while no watcher ran. */
  async #catchUp(): Promise<void> {
    const { since } = this.#progress;
    this.#open.clear();
    const statuses = ["running", "paused", "waiting", "interrupted"] as const;
    for await (const row of this.#rows({ status: statuses })) this.#touch(row);
    for await (const row of this.#rows({})) {
      if (row.createdAt < since) break;
      this.#touch(row);
    }
    for (const threadId of this.#progress.open.filter((id) => !this.#changed.has(id))) {
      const row = await this.#rowOf(threadId);
      if (row) this.#touch(row);
      else this.#progress.end(threadId);
    }
  }

  async *#rows(query: { status?: readonly ThreadRow["status"][] }): AsyncGenerator<ThreadRow> {
    let before: string | undefined;
    do {
      const page = await this.#host.threads({ ...query, limit: pageSize, before });
      yield* page.rows;
      before = page.next ?? undefined;
    } while (before !== undefined && !this.#stopped.signal.aborted);
  }

  async #rowOf(threadId: string): Promise<ThreadRow | null> {
    try {
      return await this.#host.row(await this.#host.find(threadId));
    } catch (error) {
      if (isWorkflowError(error) && error.kind === "missing") return null;
      throw error;
    }
  }

  #forget(threadId: string): void {
    this.#open.delete(threadId);
    this.#changed.delete(threadId);
  }

  #touch(row: ThreadRow): void {
    const { threadId, createdAt, status } = row;
    const isComplete = this.#progress.isComplete(threadId, createdAt, isOver(row));
    if (isComplete || isOver(row)) this.#open.delete(threadId);
    else this.#open.set(threadId, status);
    if (isComplete) return;
    const known = this.#changed.get(threadId);
    if (!known && this.#changed.size >= mostChanged) {
      this.#wasFull = true;
      return;
    }
    this.#progress.exported(threadId);
    this.#changed.set(threadId, { row, readableAt: known?.readableAt ?? 0 });
  }

  async #sendAll(): Promise<void> {
    const { signal } = this.#stopped;
    let backoffMs = 0;
    while (!signal.aborted) {
      await this.#rest(Math.max(this.#settings.delayMs, backoffMs));
      if (signal.aborted) return;
      try {
        await this.#sendChanged(performance.now());
        backoffMs = 0;
        if (this.#wasFull && this.#changed.size === 0) {
          this.#wasFull = false;
          await this.#catchUp();
          this.#progress.rewrite();
        }
      } catch (error) {
        backoffMs = Math.min(longestBackoffMs, Math.max(retryMs, backoffMs * 2));
        if (!(error instanceof NotSent)) this.#failed(this.#settings.traces?.url ?? "", error);
      }
    }
  }

  /** Sends the ended work of the changed threads whose logs may be read again at the time `now`. */
  async #sendChanged(now: number): Promise<void> {
    for (const [threadId, { row, readableAt }] of [...this.#changed]) {
      if (readableAt > now) continue;
      this.#changed.delete(threadId);
      const startedAt = performance.now();
      try {
        await this.#send(row);
      } catch (error) {
        if (!(error instanceof NotSent)) continue;
        if (!this.#changed.has(threadId)) this.#changed.set(threadId, { row, readableAt: 0 });
        throw error;
      }
      const later = this.#changed.get(threadId);
      const took = performance.now() - startedAt;
      if (later) later.readableAt = performance.now() + took * restFactor;
    }
  }

  async #send(changed: ThreadRow): Promise<void> {
    const { threadId } = changed;
    const row = await this.#host.row(changed);
    const start = row && (await this.#startOf(changed));
    if (!row) return this.#progress.end(threadId);
    if (!start) return;
    if (isOver(row)) this.#open.delete(threadId);
    // The change that reported the end may arrive after the export of the thread was completed.
    if (this.#progress.isComplete(threadId, row.createdAt, isOver(row))) return;
    const attempts = await this.#host.attempts(row);
    const facts: ThreadFacts = { row, start, attempts, calls: await callsOf(this.#host, row) };
    await this.#sendAttempts(facts);
    if (!isOver(row)) return;
    if (!this.#counted.has(threadId)) this.#metrics?.thread(row);
    this.#counted.add(threadId);
    await this.#deliver(start, [rootSpan(facts)], await this.#originOf(start));
    this.#progress.end(threadId);
    this.#counted.delete(threadId);
  }

  /** @throws NotSent */
  async #sendAttempts(facts: ThreadFacts): Promise<void> {
    const { row, start } = facts;
    const { threadId } = row;
    const exported = this.#progress.exported(threadId);
    let batch: { marks: string[]; spans: PlannedSpan[] } = { marks: [], spans: [] };
    const flush = async () => {
      const { marks, spans } = batch;
      batch = { marks: [], spans: [] };
      if (marks.length === 0) return;
      await this.#deliver(start, spans, null);
      this.#progress.add(threadId, marks);
      for (const mark of marks) this.#counted.delete(`${threadId} ${mark}`);
    };
    for (const work of endedWork(facts, new Set(exported), this.#settings.showsContent)) {
      const id = work.attempt.attempt;
      const key = `${threadId} ${id}`;
      if (!this.#counted.has(key)) this.#metrics?.work(row, work);
      this.#counted.add(key);
      for (const { mark, spans } of partsOf(id, work.spans)) {
        if (exported.has(mark)) continue;
        if (batch.spans.length + spans.length > batchSpans) await flush();
        batch.marks.push(mark);
        batch.spans.push(...spans);
      }
    }
    await flush();
  }

  /** @throws NotSent */
  async #deliver(
    start: StartRecord,
    spans: readonly PlannedSpan[],
    origin: StartRecord | null,
  ): Promise<void> {
    if (this.#hasGivenUp) throw new NotSent();
    try {
      await this.#tracing?.send(start, spans, origin);
    } catch (error) {
      this.#failed(this.#settings.traces?.url ?? "", error);
      throw new NotSent();
    }
  }

  async #startOf(ref: { hash: string; threadId: string }): Promise<StartRecord | null> {
    for await (const item of this.#host.observe(ref, undefined, { events: false, until: "now" })) {
      return item.kind === "start" ? item.start : null;
    }
    return null;
  }

  /** The start record of the parent thread; null if the parent was removed. */
  async #originOf({ forkFrom }: StartRecord): Promise<StartRecord | null> {
    if (!forkFrom) return null;
    try {
      return await this.#startOf(await this.#host.find(forkFrom.threadId));
    } catch {
      return null;
    }
  }

  async #rest(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stopped.signal, ref: false }).catch(() => undefined);
  }
}

/**
 * Splits the spans of an attempt into requests, each with a mark for the progress file. The mark of the last request is
 * the id of the attempt, so the id means that all spans were accepted.
 */
function partsOf(id: string, spans: readonly PlannedSpan[]) {
  const count = Math.ceil(spans.length / batchSpans);
  return Array.from({ length: count }, (_, at) => ({
    mark: at === count - 1 ? id : `${id} ${at}`,
    spans: spans.slice(at * batchSpans, (at + 1) * batchSpans),
  }));
}
