import type { StoreChange, ThreadRef } from "@uncaged/workflow/store";
import { isThreadId } from "@uncaged/workflow/internal";
import type { ClusterClient } from "../client/client.ts";
import { numbered } from "../client/frame.ts";
import type { NotedChange, RegistryState } from "../service/store.ts";
import { livePeriod } from "../thread/row.ts";
import type { ThreadMeta } from "../thread/thread.ts";
import { changesLost } from "./errors.ts";

const lookEveryMs = 150;

/** Last reported state of a thread. */
type Seen = { hash: string; shown: string };

/**
 * Polls several times a second for live threads, and for changes of other threads in the index. The cost of a
 * poll does not grow with the number of threads. @see ThreadStore.watch
 */
export async function* watchCluster(
  client: ClusterClient,
  signal: AbortSignal,
  ref: ThreadRef | undefined,
): AsyncGenerator<StoreChange> {
  if (signal.aborted) return;
  const changes = ref ? new ThreadChanges(client, ref) : new AllChanges(client);
  await changes.look();
  if (signal.aborted) return;
  yield { kind: "ready" };
  while (!signal.aborted) {
    for (const change of await changes.look()) {
      if (signal.aborted) return;
      yield change;
    }
    await aborted(signal, lookEveryMs);
  }
}

class ThreadChanges {
  readonly #client: ClusterClient;
  readonly #ref: ThreadRef;
  #shown: string | null = null;

  constructor(client: ClusterClient, ref: ThreadRef) {
    this.#client = client;
    this.#ref = ref;
  }

  async look(): Promise<StoreChange[]> {
    const { hash, threadId } = this.#ref;
    const meta = await this.#client.value<ThreadMeta>("thread", threadId, "meta");
    const now = meta?.hash === hash ? shownOf(meta) : null;
    if (now === this.#shown) return [];
    this.#shown = now;
    return [{ kind: now === null ? "removed" : "thread", ref: { hash, threadId } }];
  }
}

class AllChanges {
  readonly #client: ClusterClient;
  readonly #seen = new Map<string, Seen>();
  /** Threads reported as removed before the index recorded their removal. */
  readonly #gone = new Set<string>();
  #registry = 0;
  /** Number of changes in the index at the last poll; null before the first poll. */
  #noted: number | null = null;

  constructor(client: ClusterClient) {
    this.#client = client;
  }

  async look(): Promise<StoreChange[]> {
    const noted = await this.#lookAtIndex();
    const registry = await this.#client.value<RegistryState>("workflow", "registry", "registry");
    const changes: StoreChange[] = [];
    // Compare a thread with a recorded change even if it is live now.
    const ids = new Set([...noted.live, ...noted.changed.keys(), ...this.#seen.keys()]);
    const metas = await this.#client.values<ThreadMeta>("thread", [...ids], "meta");
    for (const threadId of [...ids].sort()) {
      const meta = metas.get(threadId);
      const before = this.#seen.get(threadId);
      const hash = meta?.hash ?? before?.hash ?? noted.changed.get(threadId);
      const isNamed = !meta && !before && this.#gone.delete(threadId);
      if (hash === undefined || isNamed) continue;
      const shown = meta ? shownOf(meta) : "";
      const isNew = before?.shown !== shown || noted.changed.has(threadId);
      if (isNew) changes.push({ kind: meta ? "thread" : "removed", ref: { hash, threadId } });
      if (meta && noted.live.has(threadId)) this.#seen.set(threadId, { hash, shown });
      else this.#seen.delete(threadId);
      if (!meta && !noted.changed.has(threadId)) this.#gone.add(threadId);
    }
    const revision = registry?.revision ?? 0;
    if (revision !== this.#registry) changes.push({ kind: "registry" });
    this.#registry = revision;
    return changes;
  }

  /** Returns live threads, and threads whose changes the index has recorded since the last poll. */
  async #lookAtIndex(): Promise<{ live: Set<string>; changed: Map<string, string> }> {
    const before = this.#noted;
    const from = numbered("c", (before ?? 0) + 1);
    const noted = before === null ? "" : ` OR (key >= '${from}' AND key < 'c;')`;
    const where = ` AND (key < 'a' OR key = 'changes'${noted})`;
    const rows = await this.#client.state("index", livePeriod, where);
    const live = new Set<string>();
    const changed = new Map<string, string>();
    let count = 0;
    for (const { key, bytes } of rows) {
      const value = (): unknown => JSON.parse(bytes.toString("utf8"));
      if (key === "changes") this.#noted = value() as number;
      else if (key.startsWith("c:")) {
        const { threadId, hash } = value() as NotedChange;
        changed.set(threadId, hash);
        count += 1;
      } else if (isThreadId(key)) live.add(key);
    }
    this.#noted ??= 0;
    if (before !== null && count < this.#noted - before) throw changesLost();
    return { live, changed };
  }
}

/** Returns a fingerprint of a thread that differs after every change. */
const shownOf = (meta: ThreadMeta): string => {
  const { incarnation, records, batches, journal, pause, epoch, claim, lease, end } = meta;
  const held = lease ? 1 : 0;
  const counts = [records, batches, journal?.records ?? 0, epoch, claim, held];
  return [incarnation, ...counts, pause, end !== null].join();
};

function aborted(signal: AbortSignal, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const stop = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      resolve();
    };
    const timer = setTimeout(stop, ms);
    signal.addEventListener("abort", stop);
  });
}
