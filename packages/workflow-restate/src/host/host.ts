import { refusals } from "@uncaged/workflow/store";
import type { Host, Relative, ThreadRef, Woken } from "@uncaged/workflow/host";
import { type MovingHost, notKept } from "@uncaged/workflow/internal";
import type { ClusterAddress } from "../cluster/address.ts";
import { familyPeriod, originOf } from "../thread/row.ts";
import { maxRecordBytes, type ThreadMeta } from "../thread/thread.ts";
import { changes } from "./changes.ts";
import { HostContext } from "./context.ts";
import { listLive, listThreads, rowNow, summaryOf } from "./list.ts";
import { movingCluster } from "./move.ts";
import { observeThread } from "./observe.ts";
import { controlThread, findThread, forkThread, startThread } from "./threads.ts";
import { collectGarbage, verifyCluster } from "./upkeep.ts";
import { workflowsOf } from "./workflows.ts";

/** Options of {@link openRestateHost}. */
export type RestateHostOptions = {
  /** Folder for the mirror of read threads; defaults to a temporary folder. */
  cache?: string;
};

/** A host on a cluster. */
export type RestateHost = Host & {
  /** Moves threads out of the cluster and into it. */
  moving: MovingHost;
};

/**
 * Opens a Restate cluster as a host. Reads need no worker. Ignores the `env` of a start, because workers have their own
 * environment.
 *
 * @example const host = openRestateHost(readHostUrl("restate://127.0.0.1:8080", process.env));
 */
export function openRestateHost(
  address: ClusterAddress,
  { cache }: RestateHostOptions = {},
): RestateHost {
  const context = new HostContext(address, cache);
  const { client, mirror, local, root } = context;
  const { registered, selectors, moving, ...names } = workflowsOf(context);

  /** Brings a thread's files up to date. */
  async function fetched(ref: ThreadRef): Promise<ThreadMeta> {
    const meta = await mirror.sync(ref.threadId);
    if (meta?.hash !== ref.hash) throw refusals.notFound(ref.threadId);
    return meta;
  }

  return {
    root,
    moving: movingCluster(context, moving),
    maxRecordBytes,
    ...names,

    start: (options) => startThread(context, names.resolve, options),
    find: (text) => findThread(context, text),
    threads: (query) => listThreads(context, selectors, query),
    summary: (query) => summaryOf(context, selectors, query),
    live: () => listLive(context),
    async row(ref) {
      const meta = await context.metaOf(ref);
      return meta && (await rowNow(context, meta));
    },
    async read(ref) {
      await fetched(ref);
      return await local.read(ref);
    },
    async family(ref) {
      const meta = await context.metaOf(ref);
      if (!meta) throw refusals.notFound(ref.threadId);
      const origin = originOf(meta);
      const forks = await client.keys("index", familyPeriod(origin));
      const ids = new Set([origin, ...forks, ref.threadId, ...context.recent.keys()]);
      const found: Relative[] = [];
      for (const threadId of [...ids].sort()) {
        const member = await client.value<ThreadMeta>("thread", threadId, "meta");
        if (!member || originOf(member) !== originOf(meta)) continue;
        const { updatedAt: _, ...row } = await rowNow(context, member);
        const { forkFrom } = member;
        const from = forkFrom ? { threadId: forkFrom.threadId, steps: forkFrom.steps } : null;
        found.push({ ...row, forkFrom: from });
      }
      return found;
    },
    async attempts(ref) {
      let { forkFrom } = await fetched(ref);
      while (forkFrom) forkFrom = (await mirror.sync(forkFrom.threadId))?.forkFrom;
      return await local.attempts(ref);
    },
    async *log(ref, options) {
      await fetched(ref);
      yield* local.log(ref, options);
    },
    async value(ref, at) {
      await fetched(ref);
      return await local.value(ref, at);
    },
    async *observe(ref, cursor, options = {}) {
      await fetched(ref);
      yield* observeThread(context, ref, cursor, options);
    },
    control: (ref, command) => controlThread(context, ref, command),
    fork: (ref, options) => forkThread(context, names.resolve, ref, options),
    async remove(ref, { force = false } = {}) {
      const meta = await context.metaOf(ref);
      if (!meta) throw refusals.notFound(ref.threadId);
      const mayForce = force || !(await context.isDriven(meta));
      const body = { force: mayForce };
      const removed = await client.call<{ threadId: string }>(
        "thread",
        ref.threadId,
        "remove",
        body,
      );
      context.recent.delete(ref.threadId);
      await mirror.sync(ref.threadId);
      return removed;
    },
    trash: async () => [],
    restore: async (threadId) => {
      throw notKept(threadId);
    },
    changes: (signal) => changes(context, signal),

    // The cluster wakes sleeping threads and expires questions.
    wake: async (): Promise<Woken> => ({ woken: [], failed: [], next: null }),
    // The cluster continues the threads of lost workers.
    recover: async () => ({ resumed: [], left: [] }),

    verify: (options) => verifyCluster(context, options, registered),
    collect: (options) => collectGarbage(context, options ?? {}, registered),
    workers: async () => [],
    async close() {
      await context.close();
    },
  };
}
