import { type ObjectContext, serde } from "@restatedev/restate-sdk";
import type { Mask } from "@uncaged/workflow/interpreter";
import { refusalLines } from "@uncaged/workflow/store";
import { readEvent } from "@uncaged/workflow/records";
import { batchKey, frame, oldBatchKey, unframe } from "../client/frame.ts";
import { standOf, type ThreadMeta } from "../thread/thread.ts";

type Refused = { reason: string; stepID: string | null };

/** Adds an event about a refused answer to a thread's debug log. Returns the new meta. */
export async function logRefusal(
  ctx: ObjectContext,
  meta: ThreadMeta,
  { reason, stepID }: Refused,
  mask: Mask,
): Promise<ThreadMeta> {
  const timestamp = await ctx.date.now();
  // While a worker drives the thread, only the worker numbers events.
  const seq = standOf(meta) === "driven" ? null : (await lastSeq(ctx, meta)) + 1;
  const refused = { reason, stepID, step: meta.records };
  // Another worker may mask other secrets, so a retry must reuse these lines.
  const lines = await ctx.run("lines", () => refusalLines(refused, { seq, timestamp, mask }));
  const batch = frame({}, [Buffer.from(lines), Buffer.alloc(0)]);
  ctx.set(batchKey(meta.batches), batch, serde.binary);
  return { ...meta, batches: meta.batches + 1 };
}

/** Returns the number of the last event in a debug log; 0 when it has none. */
async function lastSeq(ctx: ObjectContext, { batches }: ThreadMeta): Promise<number> {
  for (let n = batches - 1; n >= 0; n -= 1) {
    const batch =
      (await ctx.get<Uint8Array>(batchKey(n), serde.binary)) ??
      (await ctx.get<Uint8Array>(oldBatchKey(n), serde.binary));
    const lines = batch ? (unframe(batch).parts[0]?.toString("utf8") ?? "") : "";
    const events = lines.split("\n").map((line) => (line ? readEvent(JSON.parse(line)) : null));
    const last = events.findLast((event) => event !== null);
    if (last) return last.seq;
  }
  return 0;
}
