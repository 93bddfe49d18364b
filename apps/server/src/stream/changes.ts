import {
  allThreads,
  listLive,
  listWorkflows,
  type LiveRow,
  readRow,
  type Root,
  StoreWatch,
  type ThreadRef,
  type ThreadRow,
} from "@uncaged/workflow/host";
import type { LiveThreads } from "./thread-feed.ts";

/** What changes in a storage root. `reload`: changes may have been missed, read the lists anew. */
export type HostChange =
  | { kind: "thread"; row: ThreadRow }
  | { kind: "removed"; threadId: string }
  | { kind: "workflows" }
  | { kind: "reload" };

/** A thread as it was reported last; `live` when a worker reported that it drives it. */
type Known = { ref: ThreadRef; steps: number; status: string | null; live: boolean };

const leastPauseMs = 100;
const lookEveryMs = 500;
const listEveryMs = 2_000;

/**
 * Reports what changes in a storage root: a thread's row when it is new or has changed, removals, and
 * that a workflow's name points elsewhere. It begins with `reload`, once it knows what there is: who
 * reads the lists then misses nothing that comes after. Removals, pauses and lost workers are in no
 * log, so they are found by looking, and a row is the thread's state and not each of its changes.
 */
export async function* watchChanges(
  root: Root,
  live: LiveThreads,
  signal: AbortSignal,
): AsyncGenerator<HostChange> {
  const touched = new Map<string, ThreadRef>();
  let wake = Promise.withResolvers<void>();
  const watch = new StoreWatch(root, (ref) => {
    touched.set(ref.threadId, ref);
    wake.resolve();
  });
  const aborted = new Promise<void>((resolve) =>
    signal.addEventListener("abort", () => resolve(), { once: true }),
  );
  try {
    const look = new Look(root, live);
    await look.begin();
    yield { kind: "reload" };
    while (!signal.aborted) {
      const refs = [...touched.values()];
      touched.clear();
      // What can't be read now may be readable the next time.
      yield* await look.changes(refs).catch(() => []);
      await Promise.race([Bun.sleep(leastPauseMs), aborted]);
      await Promise.race([wake.promise, Bun.sleep(lookEveryMs), aborted]);
      wake = Promise.withResolvers();
      watch.ensure();
    }
  } finally {
    watch.close();
  }
}

/** What was reported of each thread and of the names, and how that differs from what is there now. */
class Look {
  readonly #root: Root;
  readonly #live: LiveThreads;
  readonly #known = new Map<string, Known>();
  #names = "";
  #listedAt = 0;

  constructor(root: Root, live: LiveThreads) {
    this.#root = root;
    this.#live = live;
  }

  async begin(): Promise<void> {
    try {
      for (const ref of allThreads(this.#root)) {
        this.#known.set(ref.threadId, { ref, steps: -1, status: null, live: false });
      }
      // One that is live now may be dead before the first look, and nothing else would report that.
      for (const ref of await listLive(this.#root)) {
        const { threadId, steps, status } = ref;
        this.#known.set(threadId, { ref, steps, status, live: true });
      }
      this.#names = await this.#readNames();
    } catch {
      // What can't be read now is found by a later look.
    }
    this.#listedAt = performance.now();
  }

  async changes(touched: ThreadRef[]): Promise<HostChange[]> {
    const live = await this.#live.now();
    const changes: HostChange[] = [];
    for (const row of live.values()) await this.#lookAtLive(row, changes);
    for (const { ref, live: wasLive } of this.#known.values()) {
      if (wasLive && !live.has(ref.threadId)) await this.#lookAt(ref, false, changes);
    }
    for (const ref of touched) await this.#lookAt(ref, live.has(ref.threadId), changes);
    if (performance.now() - this.#listedAt >= listEveryMs) {
      this.#listedAt = performance.now();
      await this.#list(changes);
    }
    return changes;
  }

  async #lookAtLive(row: LiveRow, changes: HostChange[]): Promise<void> {
    const known = this.#known.get(row.threadId);
    if (known?.steps === row.steps && known.status === row.status) known.live = true;
    else await this.#lookAt(row, true, changes);
  }

  async #lookAt(ref: ThreadRef, live: boolean, changes: HostChange[]): Promise<void> {
    const row = await readRow(this.#root, ref).catch(() => null);
    if (!row) return;
    const { threadId, hash, steps, status } = row;
    const known = this.#known.get(threadId);
    const driven = live || status === "running" || status === "paused";
    this.#known.set(threadId, { ref: { threadId, hash }, steps, status, live: driven });
    if (known?.steps !== steps || known.status !== status) changes.push({ kind: "thread", row });
  }

  async #list(changes: HostChange[]): Promise<void> {
    const there = new Set<string>();
    for (const ref of allThreads(this.#root)) {
      there.add(ref.threadId);
      if (!this.#known.has(ref.threadId)) await this.#lookAt(ref, false, changes);
    }
    for (const threadId of this.#known.keys()) {
      if (there.has(threadId)) continue;
      this.#known.delete(threadId);
      changes.push({ kind: "removed", threadId });
    }
    const names = await this.#readNames();
    if (names !== this.#names) changes.push({ kind: "workflows" });
    this.#names = names;
  }

  async #readNames(): Promise<string> {
    const rows = await listWorkflows(this.#root).catch(() => []);
    return rows.map(({ name, hash, timestamp }) => `${name} ${hash} ${timestamp}`).join("\n");
  }
}
