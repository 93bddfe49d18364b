import { type ObjectContext, serde } from "@restatedev/restate-sdk";
import type { WorkFigures } from "@uncaged/workflow/store";
import { familyPeriod, hasShown, livePeriod, originOf, periodOf, rowOf } from "../thread/row.ts";
import type { ThreadMeta } from "../thread/thread.ts";
import type { Counted, LiveChange } from "./store.ts";

/*
 * Updates the index after a change of a thread. The updates are one-way messages, so rows lag a moment behind the
 * thread. A store that creates a thread waits for them.
 */

type Sent = { key: string; method: "set" | "count" | "live"; parameter: object };

const rows = (key: string, parameter: Record<string, unknown>): Sent => ({
  ...{ key, method: "set", parameter },
});
const count = (parameter: Counted): Sent => ({ key: livePeriod, method: "count", parameter });
const live = (parameter: LiveChange): Sent => ({ key: livePeriod, method: "live", parameter });

const sendAll = (ctx: ObjectContext, all: readonly Sent[]): void => {
  for (const sent of all) ctx.genericSend({ service: "index", ...sent, inputSerde: serde.json });
};

/**
 * A change: whether the thread came to rest, whether the index counts it already, additional text for the search, and
 * whether to wait for the index.
 */
type Changed = { isResting: boolean; isKnown: boolean; more: string; awaits?: boolean };

/** Whether a thread is driven, paused, or open to holders of claims. */
const isLive = ({ end, drive, pause, byClaims, lease }: ThreadMeta): boolean =>
  !end && (drive !== null || pause || byClaims !== undefined || lease !== undefined);

/**
 * Updates the index. Writes the thread's row on its creation and whenever the thread comes to rest, and records whether
 * the thread is live.
 */
export async function listThread(
  ctx: ObjectContext,
  meta: ThreadMeta,
  before: ThreadMeta | null,
  { isResting, isKnown, more, awaits = false }: Changed,
): Promise<void> {
  const { threadId, hash, pause, forkFrom } = meta;
  const now = isLive(meta);
  const sent: Sent[] = [];
  if (!isKnown) sent.push(count({ threadId, hash, isThere: true, isLive: now }));
  else if (!before || now !== isLive(before)) sent.push(live({ threadId, hash, isLive: now }));
  if (before === null || (isResting && !pause)) {
    const text = `${(await ctx.get<string>("text")) ?? ""}\n${more.toLowerCase().slice(0, 4000)}`;
    const figures = await ctx.get<WorkFigures>("work");
    const row = {
      ...{ ...rowOf(meta), text, isShown: hasShown(meta) },
      ...(forkFrom && { forkFrom }),
      ...(figures && { figures }),
    };
    sent.push(rows(periodOf(threadId), { [threadId]: row }));
    // Only forks need a row: the id of a family is the id of its first thread.
    if (before === null && forkFrom)
      sent.push(rows(familyPeriod(originOf(meta)), { [threadId]: {} }));
  }
  if (!awaits) return sendAll(ctx, sent);
  for (const one of sent) {
    const serdes = { inputSerde: serde.json, outputSerde: serde.json };
    await ctx.genericCall({ service: "index", ...one, ...serdes });
  }
}

/** Notifies watchers of a change to a thread that is not live. */
export function noteChange(ctx: ObjectContext, meta: ThreadMeta): void {
  const { threadId, hash } = meta;
  if (!isLive(meta)) sendAll(ctx, [live({ threadId, hash, isLive: false })]);
}

/** Removes a thread from the index. */
export function unlistThread(ctx: ObjectContext, meta: ThreadMeta): void {
  const { threadId, hash } = meta;
  sendAll(ctx, [
    count({ threadId, hash, isThere: false, isLive: false }),
    ...[periodOf(threadId), familyPeriod(originOf(meta))].map((key) =>
      rows(key, { [threadId]: null }),
    ),
  ]);
}
