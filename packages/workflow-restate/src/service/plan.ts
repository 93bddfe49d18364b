import { object, type ObjectContext } from "@restatedev/restate-sdk";
import { numbered } from "../client/frame.ts";
import { serviceMetadata } from "../cluster/names.ts";
import { brief } from "./options.ts";

/** Change of the plans: its base version, and the rows to set; null deletes a row. */
export type PlanCommit = { id: string; after: number; rows: Record<string, unknown> };

/** Id and changed keys of a commit, for readers with an older version. */
export type CommitEntry = { id: string; keys: string[] };

/** Holder of a lock, and expiry time in milliseconds since the epoch. */
type Lease = { holder: string; until: number };

export const rowKey = (key: string): string => `row:${key}`;

/** Number of kept commits. A reader with an older version reads all rows. */
const keptCommits = 1_000;

/**
 * The plans. All rows are in one object because the rules of plans read several rows at once. A commit names its base
 * version, and the object refuses a commit with a stale base. Therefore a trigger that several services check fires
 * only once. Locks of plan services are objects of the same kind with other keys.
 */
export const planObject = object({
  name: "plan",
  metadata: serviceMetadata,
  options: brief,
  handlers: {
    commit: async (ctx: ObjectContext, { id, after, rows }: PlanCommit) => {
      const version = (await ctx.get<number>("version")) ?? 0;
      if (version !== after) {
        // A client that lost the reply sends the commit again.
        const next = await ctx.get<CommitEntry>(numbered("log", after + 1));
        return { isCommitted: next?.id === id };
      }
      for (const [key, row] of Object.entries(rows)) {
        if (row === null) ctx.clear(rowKey(key));
        else ctx.set(rowKey(key), row);
      }
      const entry: CommitEntry = { id, keys: Object.keys(rows) };
      ctx.set(numbered("log", after + 1), entry);
      ctx.clear(numbered("log", after + 1 - keptCommits));
      ctx.set("version", after + 1);
      return { isCommitted: true };
    },

    lease: async (ctx: ObjectContext, { holder, ms }: { holder: string; ms: number }) => {
      const now = await ctx.date.now();
      const lease = await ctx.get<Lease>("lease");
      if (lease && lease.holder !== holder && lease.until > now) return { isLeased: false };
      ctx.set("lease", { holder, until: now + ms });
      return { isLeased: true };
    },

    release: async (ctx: ObjectContext, { holder }: { holder: string }) => {
      if ((await ctx.get<Lease>("lease"))?.holder === holder) ctx.clear("lease");
      return {};
    },
  },
});
