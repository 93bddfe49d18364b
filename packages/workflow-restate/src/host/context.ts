import {
  type CopyHost,
  copyHost,
  type Drivers,
  type IndexedThread,
  readIndexed,
  rowAt,
  type Root,
} from "@uncaged/workflow/store";
import type { LiveRow, ThreadRef } from "@uncaged/workflow/host";
import { ClusterClient, quoted } from "../client/client.ts";
import type { ClusterAddress } from "../cluster/address.ts";
import type { Bundles } from "../mirror/bundles.ts";
import type { Mirror } from "../mirror/mirror.ts";
import { RestateStore } from "../store/store.ts";
import { rowOf } from "../thread/row.ts";
import { standOf, type ThreadMeta } from "../thread/thread.ts";

/** Invocation that drives a thread, from Restate's system tables. */
type Invocation = { key: string; status: string; retry_count: number | null };

/** Time after its last progress for which a thread counts as driven, in milliseconds. */
const freshMs = 3_000;
const healthMs = 1_000;
const mostRead = 1_000;
/**
 * Number of failed attempts after which a thread counts as not driven. These attempts take longer than a restart of a
 * worker.
 */
const mostRetries = 7;

/**
 * Connection of a host to its cluster: calls, queries, and a private storage root that mirrors the threads that were
 * read. The local host computes results from these files.
 */
export class HostContext {
  readonly client: ClusterClient;
  readonly store: RestateStore;
  readonly root: Root;
  readonly mirror: Mirror;
  readonly bundles: Bundles;
  readonly local: CopyHost;
  /** Threads started by this host, with their start times: the index may lack them for a moment. */
  readonly recent = new Map<string, ThreadRef & { at: number }>();
  /** Fields read from the log of each thread, with the state of the log at the read. */
  readonly #read = new Map<string, { state: string; thread: IndexedThread }>();
  readonly #health = new Map<string, { at: number; isDriven: Promise<boolean> }>();

  constructor(address: ClusterAddress, cache?: string) {
    this.client = new ClusterClient(address);
    this.store = new RestateStore(this.client, cache === undefined ? {} : { cache });
    this.root = this.store.root;
    this.mirror = this.store.mirror;
    this.bundles = this.store.bundles;
    this.local = copyHost(this.root, this.drivers);
  }

  /** Returns a thread's current meta; null when the cluster has no thread with this hash and id. */
  async metaOf({ hash, threadId }: ThreadRef): Promise<ThreadMeta | null> {
    const meta = await this.client.value<ThreadMeta>("thread", threadId, "meta");
    return meta?.hash === hash ? meta : null;
  }

  /** Finds the driver of a thread. First brings the thread's files up to date. */
  readonly drivers: Drivers = {
    find: async ({ hash, threadId }) => {
      const meta = await this.mirror.sync(threadId);
      return meta?.hash === hash ? await this.liveRow(meta) : null;
    },
  };

  /** Returns the row of a driven or paused thread; null for every other thread. */
  async liveRow(meta: ThreadMeta): Promise<LiveRow | null> {
    const row = rowOf(meta);
    const { status, steps, threadId, workflow, hash } = row;
    if (status !== "running" && status !== "paused") return null;
    if (!(await this.isDriven(meta))) return null;
    const { last, drive, createdAt } = meta;
    const elapsedMs = Math.max(0, Date.now() - (drive?.since ?? createdAt));
    const { workedMs, waitedMs } = rowAt(row, Date.now());
    const times = { workedMs, waitedMs };
    const pid = drive?.pid ?? 0;
    const role = last?.role ?? null;
    const pausing = status === "running" && meta.pause && { pausing: true as const };
    return { threadId, workflow, hash, status, pid, steps, role, elapsedMs, ...times, ...pausing };
  }

  /**
   * Reads the fields of a thread's row, and its figures, from its log. Stores the fields of an ended or waiting thread
   * in the thread's object, so that the next list need not read the log.
   */
  async read(meta: ThreadMeta, isRunning: boolean): Promise<IndexedThread | null> {
    const { threadId, hash, incarnation, records, batches, journal } = meta;
    const state = `${incarnation} ${records} ${batches} ${journal?.records ?? 0} ${isRunning}`;
    const known = this.#read.get(threadId);
    if (known?.state === state) return known.thread;
    await this.mirror.sync(threadId, meta);
    const thread = readIndexed(this.root, { hash, threadId });
    if (this.#read.size >= mostRead) this.#read.clear();
    if (!thread || thread.row.status === "corrupt") return thread;
    if (isRunning) thread.row.at.role = (await this.#runningRole(meta)) ?? thread.row.at.role;
    this.#read.set(threadId, { state, thread });
    if (meta.end || meta.last?.waits) {
      const { subject, at, spent, hasError } = thread.row;
      const shown = { at, spent, hasError };
      const body = { incarnation, records, subject, shown, figures: thread.figures };
      await this.client.call("thread", threadId, "describe", body);
    }
    return thread;
  }

  async #runningRole(meta: ThreadMeta): Promise<string | null> {
    for await (const { record } of this.local.log(meta, { backward: true })) {
      const { stepID, step = 0 } = record;
      if (step < meta.records) return null;
      if (typeof stepID === "string") return stepID;
    }
    return null;
  }

  /** Returns current threads by id, in the given order. Leaves out unknown ids. */
  async metas(threadIds: readonly string[]): Promise<Map<string, ThreadMeta>> {
    const found = await this.client.values<ThreadMeta>("thread", threadIds, "meta");
    return new Map(
      threadIds.flatMap((id) => {
        const meta = found.get(id);
        return meta ? [[id, meta]] : [];
      }),
    );
  }

  /**
   * Whether the invocation of a thread makes progress. Restate's tables show whether the invocation is missing, paused
   * or failing repeatedly.
   */
  async isDriven(meta: ThreadMeta): Promise<boolean> {
    return (await this.driven([meta])).has(meta.threadId);
  }

  /** Returns the ids of the threads for which {@link isDriven} holds. Caches answers for a second. */
  async driven(metas: readonly ThreadMeta[]): Promise<Set<string>> {
    const now = Date.now();
    for (const [id, { at }] of this.#health) if (now - at >= healthMs) this.#health.delete(id);
    const inDoubt = metas.filter((meta) => {
      const { drive, updatedAt } = meta;
      const isOrdered = standOf(meta) === "driven" && drive !== null;
      return isOrdered && now - Math.max(updatedAt, drive.since) >= freshMs;
    });
    const asked = inDoubt.map(({ threadId }) => threadId).filter((id) => !this.#health.has(id));
    const answer = asked.length === 0 ? null : this.#askHealth(asked);
    for (const id of asked) {
      const isDriven = (answer as Promise<Set<string>>).then((ids) => ids.has(id));
      isDriven.catch(() => undefined);
      this.#health.set(id, { at: now, isDriven });
    }
    const ids = new Set(metas.map(({ threadId }) => threadId));
    for (const { threadId } of inDoubt) {
      if (!(await this.#health.get(threadId)?.isDriven)) ids.delete(threadId);
    }
    return ids;
  }

  async #askHealth(threadIds: readonly string[]): Promise<Set<string>> {
    const keys = threadIds.map(quoted).join(", ");
    const found = await this.client.query<Invocation>(
      `SELECT target_service_key AS key, status, retry_count FROM sys_invocation WHERE target_service_name = 'thread' AND target_service_key IN (${keys}) AND target_handler_name = 'drive'`,
    );
    const driven = found.filter(({ status, retry_count }) => {
      if (status === "paused" || status === "completed") return false;
      return status !== "backing-off" || (retry_count ?? 0) < mostRetries;
    });
    return new Set(driven.map(({ key }) => key));
  }

  async close(): Promise<void> {
    await this.local.close();
    await this.store.close();
  }
}
