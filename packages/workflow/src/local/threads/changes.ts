import type { HostChange } from "../../host/host.ts";
import { readRegistry } from "../../registry/read.ts";
import type { Root } from "../../disk/paths.ts";
import { watchLogs } from "../../disk/watch-logs.ts";
import { system } from "../../system/system.ts";
import { isMoving, type LiveRow, type ThreadRef } from "../../record/thread.ts";
import { shownOf } from "../../record/row.ts";
import { readRow } from "./row.ts";
import { listLive } from "../workers/live.ts";
import { allThreads } from "./view.ts";

const mostOftenMs = 100;
const lookEveryMs = 500;
const freshMs = 400;
const listEveryMs = 2_000;
/** The files from which a thread's row is computed. */
const shownFiles = new Set(["data.jsonl", "journal.jsonl", "location.json", "paused"]);

/**
 * Streams changes. The system reports growing logs. Queries the workers for their threads twice a second, because logs
 * don't record a pause or the loss of a worker. Lists all threads and workflows every two seconds. @see Host.changes
 */
export async function* changes(root: Root, signal: AbortSignal): AsyncGenerator<HostChange> {
  const seen = new SeenThreads(root);
  let wake = Promise.withResolvers<void>();
  const rouse = (): void => wake.resolve();
  const watched = watchLogs(root, (ref, file) => {
    if (!shownFiles.has(file)) return;
    seen.changed(ref);
    rouse();
  });
  signal.addEventListener("abort", rouse);
  try {
    // Ignore errors: an unreadable storage root may be readable at the next check.
    await seen.begin().catch(() => undefined);
    yield { kind: "ready" };
    while (!signal.aborted) {
      yield* await seen.look().catch(() => []);
      await system.clock.sleep(mostOftenMs);
      const cancel = system.clock.after(lookEveryMs, rouse);
      if (!signal.aborted) await wake.promise;
      cancel();
      wake = Promise.withResolvers();
      watched.ensure();
    }
  } finally {
    watched.close();
    signal.removeEventListener("abort", rouse);
  }
}

/** A thread's last reported row, and its worker's last report; null when no worker drove it. */
type Seen = { ref: ThreadRef; shown: string; live: string | null };

const liveOf = ({ status, steps, role }: LiveRow): string => JSON.stringify([status, steps, role]);

class SeenThreads {
  readonly #root: Root;
  readonly #seen = new Map<string, Seen>();
  readonly #changed = new Map<string, ThreadRef>();
  #listedAt = system.clock.elapsed();
  #names = "";
  #askedAt = Number.NEGATIVE_INFINITY;
  #live = new Map<string, LiveRow>();

  constructor(root: Root) {
    this.#root = root;
  }

  /** Records the current state without reporting it: clients read the lists themselves. */
  async begin(): Promise<void> {
    for (const ref of allThreads(this.#root)) {
      this.#seen.set(ref.threadId, { ref, shown: "", live: null });
    }
    // A live thread may lose its worker before the first check, and no other change would report the loss.
    for (const row of await listLive(this.#root)) {
      const { threadId, hash } = row;
      const ref = { hash, threadId };
      const now = await readRow(this.#root, ref);
      this.#seen.set(threadId, { ref, shown: now ? shownOf(now) : "", live: liveOf(row) });
    }
    this.#names = await this.#readNames();
  }

  /** Marks a thread whose log has changed, so that the next check reads it. */
  changed(ref: ThreadRef): void {
    this.#changed.set(ref.threadId, ref);
  }

  /**
   * Returns the changes since the last check. Queries the workers and lists the threads first, because a failure of
   * these must not lose changes.
   */
  async look(): Promise<HostChange[]> {
    const live = await this.#askLive();
    const isDue = system.clock.elapsed() - this.#listedAt >= listEveryMs;
    const listed = isDue ? new Map(allThreads(this.#root).map((ref) => [ref.threadId, ref])) : null;
    const toRead = new Map(this.#changed);
    this.#changed.clear();
    for (const row of live.values()) {
      if (this.#seen.get(row.threadId)?.live !== liveOf(row)) toRead.set(row.threadId, row);
    }
    for (const [threadId, { ref, live: before }] of this.#seen) {
      if (before !== null && !live.has(threadId)) toRead.set(threadId, ref);
    }
    for (const [threadId, ref] of listed ?? []) {
      if (!this.#seen.has(threadId)) toRead.set(threadId, ref);
    }
    const found: HostChange[] = [];
    for (const ref of toRead.values()) found.push(...(await this.#read(ref)));
    if (listed) found.push(...(await this.#compare(listed)));
    return found;
  }

  async #askLive(): Promise<ReadonlyMap<string, LiveRow>> {
    if (system.clock.elapsed() - this.#askedAt < freshMs) return this.#live;
    this.#askedAt = system.clock.elapsed();
    this.#live = new Map((await listLive(this.#root)).map((row) => [row.threadId, row]));
    return this.#live;
  }

  async #read({ hash, threadId }: ThreadRef): Promise<HostChange[]> {
    const row = await readRow(this.#root, { hash, threadId });
    if (!row) return [];
    const shown = shownOf(row);
    const before = this.#seen.get(threadId);
    const reported = this.#live.get(threadId);
    const live = reported ? liveOf(reported) : isMoving(row.status) ? "" : null;
    this.#seen.set(threadId, { ref: { hash, threadId }, shown, live });
    return before?.shown === shown ? [] : [{ kind: "thread", row }];
  }

  async #compare(listed: ReadonlyMap<string, ThreadRef>): Promise<HostChange[]> {
    this.#listedAt = system.clock.elapsed();
    const found: HostChange[] = [];
    for (const threadId of this.#seen.keys()) {
      if (listed.has(threadId)) continue;
      this.#seen.delete(threadId);
      found.push({ kind: "removed", threadId });
    }
    const names = await this.#readNames();
    if (names !== this.#names) found.push({ kind: "workflows" });
    this.#names = names;
    return found;
  }

  async #readNames(): Promise<string> {
    const registry = await readRegistry(this.#root).catch(() => new Map<string, never>());
    return JSON.stringify([...registry]);
  }
}
