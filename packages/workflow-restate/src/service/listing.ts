import { type ObjectContext, serde } from "@restatedev/restate-sdk";
import { familyPeriod, livePeriod, originOf, periodOf, rowOf } from "../thread/row.ts";
import type { ThreadMeta } from "../thread/thread.ts";
import type { Counted } from "./store.ts";

/*
 * What the index has of a thread. Its rows are sent one-way: they are there a moment after the thread has changed.
 */

const send = (ctx: ObjectContext, key: string, rows: Record<string, unknown>): void =>
  void ctx.genericSend({
    service: "index",
    method: "set",
    key,
    parameter: rows,
    inputSerde: serde.json,
  });

/** Has the index know that a thread was created, or removed. */
const count = (ctx: ObjectContext, parameter: Counted): void =>
  void ctx.genericSend({
    service: "index",
    method: "count",
    key: livePeriod,
    parameter,
    inputSerde: serde.json,
  });

/** What is known of a change: whether the thread rests now, is counted already, and what it is searched by besides. */
type Changed = { isResting: boolean; isKnown: boolean; more: string };

/** Lists a thread as it is now: when it begins and when it rests, and whether it is live. */
export async function listThread(
  ctx: ObjectContext,
  meta: ThreadMeta,
  before: ThreadMeta | null,
  { isResting, isKnown, more }: Changed,
): Promise<void> {
  const { threadId, drive, end, pause, forkFrom } = meta;
  const isLive = !end && (drive !== null || pause);
  const wasLive = before && !before.end && (before.drive !== null || before.pause);
  if (!isKnown) count(ctx, { threadId, isThere: true, isLive });
  else if (isLive !== wasLive) send(ctx, livePeriod, { [threadId]: isLive ? {} : null });
  if (before !== null && (!isResting || pause)) return;
  const text = `${(await ctx.get<string>("text")) ?? ""}\n${more.toLowerCase().slice(0, 4000)}`;
  const row = { ...rowOf(meta), text, ...(forkFrom && { forkFrom }) };
  send(ctx, periodOf(threadId), { [threadId]: row });
  // A thread that is no fork has its family by its own id.
  if (before === null && forkFrom) send(ctx, familyPeriod(originOf(meta)), { [threadId]: {} });
}

/** Takes a removed thread out of the index. */
export function unlistThread(ctx: ObjectContext, meta: ThreadMeta): void {
  const { threadId } = meta;
  count(ctx, { threadId, isThere: false, isLive: false });
  const keys = [periodOf(threadId), familyPeriod(originOf(meta))];
  for (const key of keys) send(ctx, key, { [threadId]: null });
}
