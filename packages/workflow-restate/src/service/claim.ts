import { type ObjectContext, serde } from "@restatedev/restate-sdk";
import * as rules from "../thread/lease.ts";
import type { Holder, LeaseRequest, Refusal, ThreadMeta } from "../thread/thread.ts";

/** Request of a claim outside of an invocation. */
export type HoldRequest = LeaseRequest & { hash: string; takeOver: boolean };

/** Functions of the thread object that these handlers use. */
export type ClaimParts = {
  metaOf: (ctx: ObjectContext) => Promise<ThreadMeta | null>;
  become: (ctx: ObjectContext, meta: ThreadMeta, before: ThreadMeta | null) => Promise<void>;
  stopDrive: (ctx: ObjectContext, meta: ThreadMeta) => void;
  missing: (threadId: string) => Refusal;
};

/** Returns the handlers for a store: claim a thread outside of an invocation, pause it and postpone it. */
export const claimHandlers = ({ metaOf, become, stopDrive, missing }: ClaimParts) => ({
  hold: async (ctx: ObjectContext, { hash, ...request }: HoldRequest) => {
    const meta = await metaOf(ctx);
    if (meta?.hash !== hash) return missing(ctx.key);
    const now = await ctx.date.now();
    const held = rules.hold(meta, request, now);
    if (!("meta" in held)) return held;
    stopDrive(ctx, meta);
    await become(ctx, held.meta, meta);
    // The cluster still wakes a sleeping thread after its holder is lost.
    if (!meta.byClaims) sendLapse(ctx, held.meta, request.leaseMs);
    return held;
  },

  renew: async (ctx: ObjectContext, holder: Holder) => {
    const renewed = rules.renew(await metaOf(ctx), holder, await ctx.date.now());
    if (renewed) ctx.set("meta", renewed);
    return { isHeld: renewed !== null };
  },

  release: async (ctx: ObjectContext, holder: Holder) => {
    const meta = await metaOf(ctx);
    const released = rules.release(meta, holder);
    if (released) await become(ctx, released, meta);
    return {};
  },

  /** Ends a lease that was not renewed. */
  lapse: async (ctx: ObjectContext, holder: Holder) => {
    const meta = await metaOf(ctx);
    const released = rules.release(meta, holder);
    if (!meta?.lease || !released) return;
    const left = meta.lease.until - (await ctx.date.now());
    if (left > 0) sendLapse(ctx, meta, left);
    else await become(ctx, released, meta);
  },

  mark: async (ctx: ObjectContext, { hash, paused }: { hash: string; paused: boolean }) => {
    const before = await metaOf(ctx);
    if (before?.hash !== hash) return missing(ctx.key);
    if (before.end || before.pause === paused) return { meta: before };
    const meta = { ...before, pause: paused };
    await become(ctx, meta, before);
    return { meta };
  },

  postpone: async (ctx: ObjectContext, { hash, until }: { hash: string; until: number }) => {
    const meta = await metaOf(ctx);
    if (meta?.hash === hash) ctx.set("meta", { ...meta, postponedUntil: until });
    return {};
  },
});

function sendLapse(ctx: ObjectContext, meta: ThreadMeta, delay: number): void {
  const { epoch, claim, incarnation } = meta;
  const parameter = { epoch, claim, incarnation };
  ctx.genericSend({
    service: "thread",
    method: "lapse",
    key: ctx.key,
    parameter,
    delay,
    inputSerde: serde.json,
  });
}
