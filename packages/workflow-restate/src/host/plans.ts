import { ClusterClient, isPassing } from "../client/client.ts";
import { numbered } from "../client/frame.ts";
import type { ClusterAddress } from "../cluster/address.ts";
import { type CommitEntry, type PlanCommit, rowKey } from "../service/plan.ts";

/** Key of the one object that holds the plans of a cluster. */
const home = "home";

/** Rows that changed after a version; null for a deleted row. With `isAll`, `rows` has every row. */
export type RowsSince = { version: number; isAll: boolean; rows: Map<string, unknown> };

/** Rows of the plans of a cluster, and locks for plan services. */
export type PlanRows = {
  /** Returns the rows that changed after a version. */
  since(version: number): Promise<RowsSince>;
  /**
   * Sets rows; deletes a row whose value is null. Returns false without a change if `after` is not the current version.
   */
  commit(after: number, rows: Record<string, unknown>): Promise<boolean>;
  /** Acquires a lock; calls `onWait` before each retry. The lock of a dead process expires within seconds. */
  lock(name: string, onWait: () => void): Promise<{ release(): Promise<void> }>;
};

/** Duration of a lock's lease, interval of its renewal, and pause between attempts to acquire it, in milliseconds. */
const leaseMs = 10_000;
const renewMs = 3_000;
const waitMs = 50;
/**
 * Time limit for the retries of a commit while the cluster is unreachable, in milliseconds. After that time the outcome
 * is unknown.
 */
const longestMs = 30_000;
const retryMs = 200;
/** Maximum number of rows that a reader reads by key; for more changes it reads all rows. */
const mostKeys = 200;

/** Opens the plan rows of a cluster. */
export function openPlanRows(address: ClusterAddress): PlanRows {
  const client = new ClusterClient(address);
  const read = (where: string) => client.state("plan", home, ` AND ${where}`);

  return {
    async since(before) {
      const known = await read(
        `(key = 'version' OR (key > '${numbered("log", before)}' AND key < 'log;'))`,
      );
      const found = new Map(known.map(({ key, bytes }) => [key, valueOf(bytes)]));
      const version = (found.get("version") ?? 0) as number;
      const keys = new Set<string>();
      let isAll = before === 0;
      for (let n = before + 1; n <= version && !isAll; n += 1) {
        const entry = found.get(numbered("log", n)) as CommitEntry | undefined;
        for (const key of entry?.keys ?? []) keys.add(key);
        isAll = entry === undefined || keys.size > mostKeys;
      }
      if (!isAll && keys.size === 0) return { version, isAll, rows: new Map() };
      const which = [...keys].map((key) => `'${rowKey(key).replaceAll("'", "''")}'`).join(", ");
      const rows = await read(isAll ? "key >= 'row:' AND key < 'row;'" : `key IN (${which})`);
      const values = rows.map(({ key, bytes }) => [key.slice(rowKey("").length), valueOf(bytes)]);
      const gone = [...keys].map((key) => [key, null]);
      return { version, isAll, rows: new Map([...gone, ...values] as [string, unknown][]) };
    },

    async commit(after, rows) {
      const commit: PlanCommit = { id: crypto.randomUUID(), after, rows };
      for (const late = Date.now() + longestMs; ; await Bun.sleep(retryMs)) {
        try {
          const reply = await client.call<{ isCommitted: boolean }>("plan", home, "commit", commit);
          return reply.isCommitted;
        } catch (error) {
          if (!isPassing(error) || Date.now() > late) throw error;
        }
      }
    },

    async lock(name, onWait) {
      const holder = crypto.randomUUID();
      const key = `lock-${name}`;
      const lease = () =>
        client.call<{ isLeased: boolean }>("plan", key, "lease", { holder, ms: leaseMs });
      while (!(await lease()).isLeased) {
        onWait();
        await Bun.sleep(waitMs * (1 + Math.random()));
      }
      // After a failed renewal another process may hold the lock. Commits compare versions, so they stay safe.
      let renewed: Promise<unknown> = Promise.resolve();
      const renewing = setInterval(() => {
        renewed = lease().catch(() => undefined);
      }, renewMs);
      return {
        async release() {
          clearInterval(renewing);
          await renewed;
          // Without a release the lease expires.
          await client.call("plan", key, "release", { holder }).catch(() => undefined);
        },
      };
    },
  };
}

const valueOf = (bytes: Buffer): unknown => JSON.parse(bytes.toString("utf8"));
