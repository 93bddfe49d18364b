import { object, type ObjectContext } from "@restatedev/restate-sdk";
import { numbered } from "../client/frame.ts";
import { serviceMetadata } from "../cluster/names.ts";
import { brief } from "./options.ts";

/** A change of the plans: the version that it was made of, and the rows that it sets. What is null goes. */
export type PlanCommit = { id: string; after: number; rows: Record<string, unknown> };

/** What is kept of a commit: whoever has read the plans before it reads these rows again. */
export type CommitEntry = { id: string; keys: string[] };

/** Who has a lock, and until when unless it says that it is still there, in milliseconds since the epoch. */
type Lease = { holder: string; until: number };

/** The key of a row. */
export const rowKey = (key: string): string => `row:${key}`;

/** How many commits are kept: who has seen none of them reads all rows again. */
const keptCommits = 1_000;

/**
 * The plans: all of their rows in one object, since their rules look at several of them at once. A change names the
 * version that it was made of, and is refused when somebody else has changed something meanwhile: a trigger that many
 * look at fires once. Beside it, by other keys, the locks of those who look after the plans.
 */
export const planObject = object({
  name: "plan",
  metadata: serviceMetadata,
  options: brief,
  handlers: {
    commit: async (ctx: ObjectContext, { id, after, rows }: PlanCommit) => {
      const version = (await ctx.get<number>("version")) ?? 0;
      if (version !== after) {
        // Whoever has lost the answer asks again.
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
