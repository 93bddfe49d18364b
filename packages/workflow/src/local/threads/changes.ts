import type { HostChange } from "../../host/host.ts";
import { readRegistry } from "../../registry/read.ts";
import type { Root } from "../../disk/paths.ts";
import { watchLogs } from "../../disk/watch-logs.ts";
import { system } from "../../system/system.ts";
import type { LiveRow, ThreadRef } from "../../record/thread.ts";
import { readRow } from "./row.ts";
import { listLive } from "../workers/live.ts";
import { allThreads } from "./view.ts";

const mostOftenMs = 100;
const lookEveryMs = 500;
const freshMs = 400;
const listEveryMs = 2_000;

/**
 * Streams changes. The system reports growing logs. Asks the workers for their threads twice a second, because logs
 * don't record a pause or the loss of a worker. Periodically lists everything. @see Host.changes
 */
export async function* changes(root: Root, signal: AbortSignal): AsyncGenerator<HostChange> {
  const seen = new SeenThreads(root);
  let wake = Promise.withResolvers<void>();
  const rouse = (): void => wake.resolve();
  const watched = watchLogs(root, (ref, file) => {
    if (!["data.jsonl", "location.json", "paused"].includes(file)) return;
    seen.changed(ref);
    rouse();
  });
  signal.addEventListener("abort", rouse);
  try {
    // Ignore errors: an unreadable storage root may be readable at the next look.
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

/** A thread as it was last reported; `live` when a worker drove it. */
type Seen = { ref: ThreadRef; steps: number; status: string | null; live: boolean };

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

  /** Records the current state without reporting it: followers read the lists themselves. */
  async begin(): Promise<void> {
    for (const ref of allThreads(this.#root)) {
      this.#seen.set(ref.threadId, { ref, steps: -1, status: null, live: false });
    }
    // A thread that was live a moment ago may have lost its worker since, which no other change would report.
    for (const row of await listLive(this.#root)) {
      const { steps, status } = row;
      this.#seen.set(row.threadId, { ref: row, steps, status, live: true });
    }
    this.#names = await this.#readNames();
  }

  /** Notes that a thread's log has changed, to read it at the next look. */
  changed(ref: ThreadRef): void {
    this.#changed.set(ref.threadId, ref);
  }

  /** Returns the changes since the last look. Performs reads that may throw before it changes any state. */
  async look(): Promise<HostChange[]> {
    const live = await this.#askLive();
    const isDue = system.clock.elapsed() - this.#listedAt >= listEveryMs;
    const listed = isDue ? new Map(allThreads(this.#root).map((ref) => [ref.threadId, ref])) : null;
    const toRead = new Map(this.#changed);
    this.#changed.clear();
    for (const row of live.values()) {
      const seen = this.#seen.get(row.threadId);
      if (seen?.steps === row.steps && seen.status === row.status) seen.live = true;
      else toRead.set(row.threadId, row);
    }
    for (const [threadId, { ref, live: wasLive }] of this.#seen) {
      if (wasLive && !live.has(threadId)) toRead.set(threadId, ref);
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
    const { steps, status } = row;
    const before = this.#seen.get(threadId);
    const live = this.#live.has(threadId) || status === "running" || status === "paused";
    this.#seen.set(threadId, { ref: { hash, threadId }, steps, status, live });
    return before?.steps === steps && before.status === status ? [] : [{ kind: "thread", row }];
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
