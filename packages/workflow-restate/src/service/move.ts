import { handlers, type ObjectContext, serde } from "@restatedev/restate-sdk";
import type { HostIdentity } from "@uncaged/workflow/internal";
import { unframe } from "../client/frame.ts";
import * as rules from "../thread/move.ts";
import type { Refusal, ThreadMeta } from "../thread/thread.ts";
import type { StagedValues } from "./staging.ts";

/** Values of an arriving thread: its records, batches and blobs, by key. */
export type ReceiveHeader = StagedValues & { moves: number };

/** Last message of an arriving thread. `isNew`: its debug log replaces the existing debug log. */
export type ArriveHeader = rules.ArrivingThread & {
  text: string;
  taken: string[];
  isNew: boolean;
};

/** Functions of the thread object that these handlers use. */
export type MoveParts = {
  metaOf: (ctx: ObjectContext) => Promise<ThreadMeta | null>;
  become: (ctx: ObjectContext, meta: ThreadMeta, isKnown: boolean) => Promise<void>;
  stopDrive: (ctx: ObjectContext, meta: ThreadMeta) => void;
  missing: (threadId: string) => Refusal;
};

const tombstoneOf = (ctx: ObjectContext) => ctx.get<rules.Tombstone>("left");
const tokenOf = (moves: number): string => `move ${moves}`;

/** Returns the handlers by which a thread leaves and arrives. Their rules are in `thread/move.ts`. */
export const moveHandlers = ({ metaOf, become, stopDrive, missing }: MoveParts) => ({
  leave: async (ctx: ObjectContext, { to, force }: { to: HostIdentity; force: boolean }) => {
    const meta = await metaOf(ctx);
    if (!meta) return missing(ctx.key);
    const left = rules.leave(meta, { to, force, at: await ctx.date.now() });
    if ("error" in left) return left;
    if ("before" in left) return left.before;
    stopDrive(ctx, meta);
    await become(ctx, left.meta, true);
    return left.location;
  },

  receive: handlers.object.exclusive(
    { input: serde.binary, accept: "*/*" },
    async (ctx: ObjectContext, message: Uint8Array) => {
      const { header, parts } = unframe(message);
      const { keys, moves } = header as ReceiveHeader;
      const meta = await metaOf(ctx);
      const refusal = rules.refusalOfArrival(ctx.key, meta, await tombstoneOf(ctx), moves);
      if (refusal) return refusal;
      // Garbage collection deletes an unfinished arrival like an unfinished start.
      if (!meta) ctx.set("staging", { token: tokenOf(moves), at: await ctx.date.now() });
      keys.forEach((key, n) => ctx.set(key, parts[n] as Uint8Array, serde.binary));
      return { arrived: false };
    },
  ),

  arrive: async (ctx: ObjectContext, header: ArriveHeader) => {
    const { text, taken, isNew, ...thread } = header;
    const meta = await metaOf(ctx);
    const refusal = rules.refusalOfArrival(ctx.key, meta, await tombstoneOf(ctx), thread.moves);
    if (refusal) return refusal;
    const staging = meta ? null : await ctx.get<{ token: string }>("staging");
    if (!meta && staging?.token !== tokenOf(thread.moves)) return { arrived: false };
    for (const key of ["staging", "left"]) ctx.clear(key);
    for (const id of taken) ctx.set(`r:${id}`, 1);
    ctx.set("text", text);
    const incarnation = meta && !isNew ? meta.incarnation : ctx.rand.uuidv4();
    const at = await ctx.date.now();
    await become(ctx, rules.arrive(meta, thread, { incarnation, at }), meta !== null);
    return { arrived: true };
  },
});
